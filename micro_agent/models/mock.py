"""The mock provider: rules instead of a model, for trying things offline. It knows arithmetic and the time only.

It sees what a model sees (instructions, messages, tools) and nothing else. It calls ``calculator`` and ``now`` and says
what they gave. It computes nothing itself, but for counting a day or two from today.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import re
from collections.abc import AsyncIterator, Iterator
from datetime import date, timedelta
from typing import Any, Self

from dspy import LMError, lm15

from micro_agent.models import scope
from micro_agent.models.identity import Traits
from micro_agent.models.mock_everyday import NEXT_STEP, talk
from micro_agent.models.mock_questions import Wanted, understood
from micro_agent.run import Mode
from micro_agent.run.making import asks_to_make
from micro_agent.text.attached import own_words

_OBSERVATION = re.compile(r"Tool \[([^\]]*)\] output:\n(.*)", re.DOTALL)
_OF_THE_LOOP = ("Policy: ", "Format: ", "Note: ")
_REFUSED = re.compile(r'\{"error": "(VALIDATION_FAILED|UNKNOWN_TOOL)"')
"""The result of a call that was not run, so that it is made again."""
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")  # whatever the locale
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)")

Observed = tuple[str, str]
"""A tool's name and what it gave, as text."""


class MockRefused(LMError):
    """The mock was asked something that it has no rule for."""

    default_code = "MOCK_REFUSED"

    def __init__(self, why: str):
        super().__init__(f"the mock provider is not a model, it knows arithmetic and the time only: {why}")


class MockEngine(Traits):
    """Answers by rules, in both modes, the same for the same request."""

    provider = "mock"
    default_mode: Mode = "native"
    supports_function_calling = True
    supports_response_schema = True
    supported_params = frozenset({"tools", "tool_choice", "response_format"})

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The next call that the question needs, or the answer: once all of them were observed, or if none is needed.

        Raises:
            MockRefused: No rule fits the question, or the tool for it is not offered.
        """
        if any(message.parts_of(lm15.ImagePart) for message in request.messages):
            raise MockRefused("it does not see images; ask a model that does")
        question, observed = _transcript(request)
        if asks_to_make(question):
            return _response({"content": '{"make": true}'}, request)
        question = own_words(question)
        if (told := talk(question)) is not None:
            return _response(_said(told, request), request)
        wanted = understood(question)
        if not wanted:
            raise MockRefused(f"it does not understand this question; {NEXT_STEP}")
        _require_offered(wanted, request)
        seen = _paired(wanted, observed)
        missing = wanted[len(seen)] if len(seen) < len(wanted) else None
        message = _called(missing, request) if missing else _answered(wanted, seen, request)
        return _response(message, request)

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """`complete`, as DSPy's stream events."""
        yield from lm15.response_to_events(self.complete(request))

    def twin(self) -> "AsyncMockEngine":
        """The same for ``async`` callers."""
        return AsyncMockEngine()

    def dump_state(self) -> dict[str, Any]:
        """What DSPy saves of it: there is nothing to say."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The engine again."""
        return cls()


class AsyncMockEngine:
    """`MockEngine` for ``async`` callers."""

    def dump_state(self) -> dict[str, Any]:
        """As `MockEngine.dump_state`."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The engine again."""
        return cls()

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `MockEngine.complete`."""
        return MockEngine().complete(request)

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        """`complete`, as DSPy's stream events."""
        for event in lm15.response_to_events(await self.complete(request)):
            yield event


def _transcript(request: lm15.Request) -> tuple[str, list[Observed]]:
    """The question, which is the last thing that the user said, and the observations since."""
    question, observed = "", list[Observed]()
    names: dict[str, str] = {}
    for message in request.messages:
        names |= {part.id: part.name for part in message.parts if isinstance(part, lm15.ToolCallPart)}
        observed += [(part.name or names.get(part.id, ""), _text(part.content)) for part in _results(message)]
        said = _text(message.parts) if message.role == "user" else ""
        if match := _OBSERVATION.match(said):
            observed.append((match[1], match[2]))
        elif said and not said.startswith(_OF_THE_LOOP):
            question, observed = said, []
    return question, [(tool, text) for tool, text in observed if not _REFUSED.match(text)]


def _results(message: lm15.Message) -> list[lm15.ToolResultPart]:
    return [part for part in message.parts if isinstance(part, lm15.ToolResultPart)]


def _text(parts: Any) -> str:
    return "".join(part.text for part in parts if isinstance(part, lm15.TextPart))


def _native(request: lm15.Request) -> bool:
    return bool(request.tools)


def _require_offered(wanted: list[Wanted], request: lm15.Request) -> None:
    system = request.system if isinstance(request.system, str) else _text(request.system or ())
    for tool in {call.tool: None for call in wanted}:
        named = re.search(rf"(?<!\w){tool}[\"'`(:*]", system)
        if not (any(offered.name == tool for offered in request.tools) if _native(request) else named):
            raise MockRefused(f"it needs the tool {tool!r} for this question, which is not offered")


def _paired(wanted: list[Wanted], observed: list[Observed]) -> list[str]:
    """What was observed for the wanted calls, in their order, up to the first that was not made."""
    seen: list[str] = []
    left = iter(observed)
    for call in wanted:
        text = next((text for tool, text in left if tool == call.tool), None)
        if text is None:
            break
        seen.append(text)
    return seen


def _called(call: Wanted, request: lm15.Request) -> dict[str, Any]:
    if not _native(request):
        return {"content": json.dumps({"tool": {"name": call.tool, "args": call.args}}, ensure_ascii=False)}
    made = sum(isinstance(part, lm15.ToolCallPart) for message in request.messages for part in message.parts)
    function = {"name": call.tool, "arguments": json.dumps(call.args, ensure_ascii=False)}
    return {"content": None, "tool_calls": [{"id": f"mock_{made + 1}", "type": "function", "function": function}]}


def _answered(wanted: list[Wanted], seen: list[str], request: lm15.Request) -> dict[str, Any]:
    return _said(" ".join(map(_sentence, wanted, seen)), request)


def _said(answer: str, request: lm15.Request) -> dict[str, Any]:
    final = {"final": {"answer": answer}}
    return {"content": answer if _native(request) else json.dumps(final, ensure_ascii=False)}


def _sentence(call: Wanted, text: str) -> str:
    """What the tool gave, in words; an error as an error."""
    try:
        value: Any = json.JSONDecoder().raw_decode(text)[0]  # a note of the loop may follow
    except ValueError:
        value = text
    if isinstance(value, dict) and value.get("error"):
        failed = "compute that" if call.tool == "calculator" else "tell the time"
        return f"I could not {failed}: {value.get('message') or value['error']}"
    if call.tool == "calculator":
        return f"The answer is {_number(value)}."
    return _moment(call, text)


def _moment(call: Wanted, text: str) -> str:
    zone = {"utc": "UTC", "local": "local time"}.get(call.args["timezone"], f"({call.args['timezone']})")
    moment = _MOMENT.search(text)
    try:
        today, minute = date.fromisoformat(moment[1] if moment else ""), moment and moment[2]
        other = today + timedelta(call.days)
    except (ValueError, OverflowError):  # the clock is somebody's own
        return f"It is {text}."
    if not call.days:
        return f"It is {_day(today) if call.weekday else today} {minute} {zone}."
    name = {-1: "yesterday was", 1: "tomorrow is"}.get(call.days, "the day after tomorrow is")
    return f"Today is {_day(today)} {zone}; {name} {_day(other)}."


def _day(day: date) -> str:
    return f"{_WEEKDAYS[day.weekday()]}, {day}"


def _number(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("result", value)
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else value if isinstance(value, str) else json.dumps(value)


def _response(message: dict[str, Any], request: lm15.Request) -> lm15.Response:
    """The message as a server on OpenAI's wire would send it; nothing counts tokens here, so no usage."""
    on_text = scope.current().on_text
    if on_text and message["content"]:
        on_text(message["content"])
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return lm15.response_from_openai_chat({"model": request.model, "choices": [choice]}, model=request.model)
