# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Conversations to learn from: a teacher that knows what is right plays the model in the project's own loop.

So prompts, results, errors and the loop's own words are those that the model will meet. Some conversations begin with a
slip of the teacher's, which is not learned; what is right after it is.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import dspy
from dspy import lm15

from micro_agent import MicroAgent
from micro_agent.models.identity import Told, Traits
from micro_agent.models.settings import Settings
from micro_agent.models.tiny.template import beginning_of, call, head_of, turns_of
from micro_agent.models.tiny.tokenizer import BEGIN, END, Part
from micro_agent.models.tiny.toolset import World, tools_over
from micro_agent.run import Mode
from micro_agent.tools import load_tools
from training.tasks import LOOKUPS, WORDS, Invention, Task, task, without_tool

MODES: tuple[Mode, ...] = ("native", "json")
SLIPS = 0.12
"""So many of the conversations begin with a slip."""
FOLLOWING = 0.15
"""So many have another before them."""
SYSTEMS = ("You are a helpful assistant.", "You help in a shop.", "Answer questions with the tools that you have.")
_TOLD = ("error", "Policy: ", "Format: ")
"""Of these there is one in what the loop says of a reply that was no use."""
ALL = ["calculator", "now", *(tool.name for tool in tools_over(World()))]
"""The names of the twelve tools."""
_SETTINGS = Settings.model_construct(resamples=0)  # a slip is seen, and what is made of it is learned


@dataclass
class Piece:
    """A part of a conversation; ``right``: whether it is to be learned."""

    parts: list[Part]
    right: bool = False


@dataclass
class Group:
    """Conversations with one head, which is computed once for all of them."""

    head: list[Part]
    branches: list[list[Piece]] = field(default_factory=list[list[Piece]])


class Teacher(Traits):
    """Replies in the place of a model: the slip if there is one, the calls of a task, then its answer."""

    default_mode = "native"
    provider = "teacher"
    supports_function_calling = supports_response_schema = True
    supported_params = frozenset({"tools"})
    told = Told(8192, None, True, False)
    refuses_schema = True

    def __init__(self, mode: Mode) -> None:
        self.mode: Mode = mode
        self.begin()

    def begin(self) -> None:
        """Forget the last conversation."""
        self.todo, self.requests, self.said = list[Any](), list[lm15.Request](), list[Piece]()
        self.teach(None, None)

    def teach(self, task: Task | None, slip: dict[str, Any] | None) -> None:
        """What to reply next."""
        self.slip, self._slipped = slip, False
        if task is not None:
            calls = [{"name": name, "arguments": arguments} for name, arguments in task.calls]
            self.todo = [*calls, {"answer": task.answer}]

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The next reply."""
        self.requests.append(request)
        if self._slipped and not any(word in str(request.messages[-1]) for word in _TOLD):
            self.todo.pop(0)  # the loop made of the slip what was meant
        self._slipped = self.slip is not None
        reply, self.slip = self.slip or self.todo.pop(0), None
        self.said.append(Piece([*self._written(reply), END], right=not self._slipped))
        return self._response(reply, request)

    def _written(self, reply: dict[str, Any]) -> list[Part]:
        if self.mode == "json":
            return [_decision(reply)]
        return [reply["answer"]] if "answer" in reply else call(reply["name"], reply["arguments"])

    def _response(self, reply: dict[str, Any], request: lm15.Request) -> lm15.Response:
        message: dict[str, Any] = {"role": "assistant"}
        if self.mode == "json" or "answer" in reply:
            message["content"] = _decision(reply) if self.mode == "json" else reply["answer"]
        else:
            function = {"name": reply["name"], "arguments": json.dumps(reply["arguments"])}
            message["tool_calls"] = [{"id": f"c{len(self.requests)}", "type": "function", "function": function}]
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return lm15.response_from_openai_chat({"model": request.model, "choices": [choice]}, model=request.model)


class Classroom:
    """One agent and its teacher, over a world that is another for each task."""

    def __init__(
        self, names: Sequence[str], mode: Mode, random: Random, *, slips: float = SLIPS, **options: Any
    ) -> None:
        self._slips = slips
        self._random, self._world = random, World()
        self._moment = datetime(2024, 1, 1, tzinfo=UTC)
        known = {tool.name: tool for tool in [*load_tools(modules="").values(), *tools_over(self._world)]}
        known["now"] = replace(known["now"], handler=self._now)
        self._teacher = Teacher(mode)
        lm: Any = dspy.LM("teacher/tiny", engine=self._teacher, cache=False, num_retries=0)
        tools = [known[name] for name in names]
        self._agent = MicroAgent(tools=tools, lm=lm, mode=mode, settings=_SETTINGS, **options)

    def conversation(self, asked: Sequence[Task]) -> tuple[int, lm15.Request, list[Piece]] | None:
        """Tasks one after the other, in one conversation.

        Returns:
            How many messages stand before the first question, the last request, and what the teacher said; ``None``
            where the loop took another way than was planned.
        """
        teacher, run = self._teacher, None
        teacher.begin()
        for one in asked:
            self._know(one)
            teacher.teach(one, _slip(one, self._random) if self._random.random() < self._slips else None)
            run = self._agent.ask(one.question, history=run)
            if run.status != "completed" or teacher.todo:
                return None
        first, last = len(teacher.requests[0].messages) - 1, teacher.requests[-1]
        if sum(one.role == "assistant" for one in last.messages[first:]) != len(teacher.said) - 1:
            return None
        return first, last, teacher.said

    def _know(self, one: Task) -> None:
        """Make the world that of a task, with a few things that it does not ask for."""
        random, world = self._random, self._world
        new = Invention(random, held=False)
        vars(world).update(vars(one.world))
        world.prices = {**{new.product(): new.number() for _ in range(4)}, **one.world.prices}
        world.phones = {**{new.person(): "0100 1000" for _ in range(4)}, **one.world.phones}
        self._moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(6 * 365 * 86400))
        if "{time}" in one.answer:
            told = self._now()
            one.answer = one.answer.format(time=told["time"][:5], weekday=told["weekday"], date=told["date"])

    def _now(self, timezone: str = "utc") -> dict[str, Any]:
        moment = self._moment
        return {
            "iso": moment.isoformat(timespec="seconds"), "timezone": timezone, "date": moment.date().isoformat(),
            "time": moment.time().isoformat(), "weekday": moment.strftime("%A"), "unix": int(moment.timestamp()),
        }  # fmt: skip


def _decision(reply: dict[str, Any]) -> str:
    found = {"final": reply} if "answer" in reply else {"tool": {"name": reply["name"], "args": reply["arguments"]}}
    return json.dumps(found, ensure_ascii=False)


def groups(seed: int) -> Iterator[Group]:
    """Groups without end, the same for the same seed; those in JSON mode are larger, as their heads are longer."""
    random = Random(seed)
    while True:
        mode = random.choice(MODES)
        found = _group(random, mode, 17 if mode == "json" else 9)
        if found.branches:
            yield found


def _group(random: Random, mode: Mode, size: int) -> Group:
    names = _offered(random)
    system = random.choice(SYSTEMS) if random.random() < 0.1 else None
    demos: list[Any] | None = [] if random.random() < 0.3 else None
    alter = _altered(random)
    room = Classroom(names, mode, random, system=system, demos=demos)
    found = Group([])
    for _ in range(size):
        asked = [_asked(random, names)]
        while random.random() < FOLLOWING and len(asked) < 3:
            asked.insert(0, _asked(random, names))
        if (talk := room.conversation(asked)) is None:
            continue
        first, request, said = talk
        found.head = [BEGIN, *head_of(alter(request)), *turns_of(request.messages[:first])]
        found.branches.append(list(pieces(request.messages[first:], said)))
    return found


def pieces(messages: Sequence[lm15.Message], said: list[Piece]) -> Iterator[Piece]:
    """The messages from the first question on, with what the teacher said in its places and at the end."""
    replies = iter(said)
    for message in messages:
        if message.role == "assistant":
            yield Piece(beginning_of("assistant"))
            yield next(replies)
            yield Piece(["\n"])
        else:
            yield Piece(list(turns_of([message])))
    yield Piece(beginning_of("assistant"))
    yield next(replies)


def _offered(random: Random) -> list[str]:
    chance = random.random()
    if chance < 0.5:
        return ALL
    if chance < 0.62:
        return ["calculator", "now"]
    return random.sample(ALL, random.randint(3, 9))


def _asked(random: Random, names: Sequence[str]) -> Task:
    while True:
        found = task(random)
        if found.needs <= set(names):
            return found
        if random.random() < 0.05 and not found.needs & set(names):
            return without_tool(found)


def _slip(asked: Task, random: Random) -> dict[str, Any] | None:
    """A wrong first reply, as weak models give it."""
    if not asked.calls:
        return None
    name, arguments = asked.calls[0]
    key = random.choice(list(arguments))
    match random.choice(("name", "missing", "argument", "copy", "copy", "copy", "early")):
        case "name":
            return {"name": random.choice([name[:-1], name + "s", f"get_{name}"]), "arguments": arguments}
        case "missing":
            return {"name": name, "arguments": {one: value for one, value in arguments.items() if one != key}}
        case "argument":
            wrong = random.choice(["name", "item", "query", "input"])
            renamed = {(wrong if one == key else one): value for one, value in arguments.items()}
            return {"name": name, "arguments": renamed}
        case "copy" if name in LOOKUPS:
            cut = arguments[key][: -random.randint(1, 2)]
            end = random.choice(["", random.choice(WORDS["syllables"])])
            return {"name": name, "arguments": {**arguments, key: cut + end}}
        case "early" if name == "calculator":
            return {"answer": f"The result is {random.randint(2, 999)}."}
        case _:
            return None


def _altered(random: Random) -> Any:
    """What becomes of the system prompt, so that another wording of it confuses the model less."""
    chance = random.random()

    def alter(request: lm15.Request) -> lm15.Request:
        system = str(request.system)
        if chance < 0.07 and request.tools:
            return replace(request, system=None)
        if chance < 0.14 and request.tools:
            return replace(request, system=SYSTEMS[int(chance * 1000) % len(SYSTEMS)])
        if chance < 0.28:
            lines = system.split("\n")
            left_out = int(chance * 1000) % 4
            return replace(request, system="\n".join(lines[:left_out] + lines[left_out + 1 :]))
        return request

    return alter
