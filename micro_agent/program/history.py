# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a question follows: another run, or messages, as they are recorded."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import dspy

from micro_agent.errors import ConfigurationError
from micro_agent.run import Run
from micro_agent.run.chain import following
from micro_agent.text.encoding import as_json

History = Run | dspy.History | Iterable[Mapping[str, Any]]
"""A run that has ended, messages in the form of OpenAI's chat, or those of a ``dspy.History``."""
_WANTED = "pass a Run, a list of messages such as {'role': 'user', 'content': '…'}, or a dspy.History"
_ROLES = ("user", "assistant", "tool")


def before(history: Any, turn: Callable[[int, Mapping[str, Any]], list[dict[str, Any]]]) -> dict[str, Any]:
    """The fields of a run that has this history.

    Args:
        history: See `History`.
        turn: The messages for the turn of this number of a ``dspy.History``, which has it by the names of fields.

    Raises:
        ConfigurationError: It is something else, or not in order.
    """
    if isinstance(history, Run):
        return dict(following(history))
    if isinstance(history, dspy.History):
        given: list[Any] = list(history.messages)
    elif isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        raise ConfigurationError(f"history is of type {type(history).__name__}: {_WANTED}")
    else:
        given = list(history)
    if not all(isinstance(message, Mapping) for message in given):
        raise ConfigurationError(f"a message of the history is not an object: {_WANTED}")
    if not any("role" in message for message in given):
        return {"history": [message for number, one in enumerate(given, 1) for message in turn(number, one)]}
    return {"history": conversation(given)}


def conversation(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages in the form of OpenAI's chat as a record has them.

    Raises:
        ConfigurationError: They are no conversation.
    """
    return _checked(_joined([_message(number, message) for number, message in enumerate(messages, 1)]))


def messages_of(number: int, asked: str, outputs: Mapping[str, Any], submit: str | None) -> list[dict[str, Any]]:
    """A turn as messages: what was asked, and what the model gave, in a call of the tool ``submit`` where it is one."""
    question = {"role": "user", "content": asked}
    if not outputs:
        return [question]
    if submit is None:
        [text] = outputs.values()
        return [question, {"role": "assistant", "content": text if isinstance(text, str) else as_json(text)}]
    call = {"id": f"given_{number}", "name": submit, "args": dict(outputs)}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "Accepted."}
    return [question, {"role": "assistant", "content": "", "tool_calls": [call]}, result]


def _message(number: int, message: Mapping[str, Any]) -> dict[str, Any]:
    role, where = message.get("role"), f"message {number} of the history"
    if role not in _ROLES:
        more = ": pass system= to the agent instead" if role in ("system", "developer") else ""
        raise ConfigurationError(f"{where} has the role {role!r}, not {', '.join(_ROLES)}{more}")
    found: dict[str, Any] = {"role": role, "content": _text(message.get("content"), where)}
    if role == "tool":
        found["tool_call_id"] = message.get("tool_call_id")
    if role == "assistant" and message.get("tool_calls"):
        found["tool_calls"] = [_call(one, where) for one in message["tool_calls"]]
    return found


def _text(content: Any, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = cast("list[Any]", content) if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise ConfigurationError(f"{where} holds something else than text")
    return "\n".join(cast("list[str]", texts))


def _call(call: Any, where: str) -> dict[str, Any]:
    """A tool call in OpenAI's form, or in that of a record."""
    import json

    told = cast("Mapping[str, Any]", call) if isinstance(call, Mapping) else {}
    function = told.get("function", told)
    try:
        name, args = function["name"], function["arguments"] if "arguments" in function else function["args"]
        args = json.loads(args) if isinstance(args, str) else dict(args)
        ident = told["id"]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{where} has a tool call without an id, a name or arguments in JSON") from error
    if not (isinstance(name, str) and isinstance(ident, str) and isinstance(args, dict)):
        raise ConfigurationError(f"{where} has a tool call without an id, a name or arguments in JSON")
    return {"id": ident, "name": name, "args": args}


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with what the model said in several ones behind each other as one."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        last = joined[-1] if joined else {}
        if message["role"] == last.get("role") == "assistant" and "tool_calls" not in last:
            said = "\n\n".join(filter(None, (last["content"], message["content"])))
            joined[-1] = {**message, "content": said}
        else:
            joined.append(message)
    return joined


def _checked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Raises `ConfigurationError` where they are no conversation: each call has its result behind it, and an own id."""
    seen, wanted = set[str](), list[str]()
    for number, message in enumerate(messages, 1):
        where = f"message {number} of the history"
        if number == 1 and message["role"] != "user":
            raise ConfigurationError(f"{where} is of the {message['role']}: a history begins with the user")
        if message["role"] == "tool":
            if message["tool_call_id"] not in wanted:
                raise ConfigurationError(f"{where} is the result of a call that does not stand before it")
            wanted.remove(message["tool_call_id"])
        elif wanted:
            raise ConfigurationError(f"the result of call {wanted[0]!r} is missing before {where}")
        for call in message.get("tool_calls", ()):
            if call["id"] in seen:
                raise ConfigurationError(f"{where} has a tool call with the id {call['id']!r}, as one before it")
            seen.add(call["id"])
            wanted.append(call["id"])
    if wanted:
        raise ConfigurationError(f"the result of call {wanted[0]!r} is missing at the end of the history")
    return messages
