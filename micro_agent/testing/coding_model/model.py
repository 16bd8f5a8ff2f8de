"""`CodingModel`: the decisions, one for each request, each a function of the seed and the conversation alone."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Literal

from micro_agent.coding import category_of
from micro_agent.errors import ConfigurationError
from micro_agent.testing.coding_model import actions
from micro_agent.testing.coding_model.actions import Situation, situation
from micro_agent.testing.coding_model.conversation import Conversation, Said, Schemas, flat, read_request
from micro_agent.testing.coding_model.faults import FAULTS, Failing, failing, said
from micro_agent.testing.coding_model.hands import Call, parameters, tables
from micro_agent.testing.coding_model.knowing import Known, known_of, passed
from micro_agent.testing.coding_model.plan import Plan
from micro_agent.testing.reply import Reply, text
from micro_agent.testing.script import Received

ALONE = 0.3
"""How likely it gets out of a mistake that nobody helps with. An assumption, as all of these figures."""
_NO_CALLS = frozenset({"announce", "finish", "call_in_prose", "broken_json"})
"""The faults that no server lets through where it holds a reply to a call."""
_ID = re.compile(r"patch_\w+")

Way = Literal["right", "follow", "repeat", "carry_on", "asked"]


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision: the task, the state it was made in, which way was taken, and the fault in it, if any."""

    task: str
    state: str
    way: Way
    fault: str | None
    reply: Reply


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Something is wrong after the last reply. ``mistake``: it was the model's own, which it can make again."""

    helped: bool
    mistake: bool


class CodingModel:
    """A script that plays a weak model at coding tasks. Safe to share: it keeps nothing but the record ``decisions``.

    What it decides follows from ``seed``, what it was asked, what it said so far, and the seed and temperature of the
    request; what it was told chooses between decisions, and changes no other draw. So a run is the same each time,
    and two agents that help differently meet the same mistakes as long as the model says the same.

    Args:
        plans: What a good solver would do: one plan for whatever is asked, or several by the texts of their tasks.
        faults: The share of decisions in which it fails, where it can, 0 to 1.
        follows: How likely it does what it is told when something went wrong: by an error that suggests a call, or by
            the words of a policy or note.
        seed: Another seed fails elsewhere.
        stuck: How likely it makes a mistake again when it does not recover; otherwise it goes on as if all was well.
        alone: How likely it recovers where nothing helps.
        only: The faults to choose from, out of `FAULTS`; ``None``: all.
        held: Whether its server holds a reply to what the request requires, as llama.cpp, vLLM and Ollama (by a schema)
            do: where no answer is allowed it makes a call, if a useless one. Otherwise it says what it likes.

    Raises:
        ConfigurationError: One of them is no share, or there is no such fault.
    """

    def __init__(
        self,
        plans: Plan | Mapping[str, Plan],
        *,
        faults: float,
        follows: float,
        seed: int,
        stuck: float = 0.5,
        alone: float = ALONE,
        only: Iterable[str] | None = None,
        held: bool = False,
    ) -> None:
        for name, share in {"faults": faults, "follows": follows, "stuck": stuck, "alone": alone}.items():
            if not 0 <= share <= 1:
                raise ConfigurationError(f"{name} must be a share from 0 to 1, such as 0.3, not {share:g}")
        self._only = frozenset(FAULTS if only is None else only)
        if unknown := sorted(self._only - FAULTS.keys()):
            raise ConfigurationError(f"there is no fault {unknown[0]!r}: use some of {', '.join(FAULTS)}")
        self._plans = {"": plans} if isinstance(plans, Plan) else dict(plans)
        self._faults, self._follows, self._stuck, self._alone = faults, follows, stuck, alone
        self._seed, self._held = seed, held
        self.decisions: list[Decided] = []
        """What was decided so far, in the order of the requests."""

    def __call__(self, request: Received) -> Reply:
        """The reply to a request. Raises `LookupError` where it asks none of the tasks."""
        decided = self.decide(request)
        self.decisions.append(decided)
        return decided.reply

    def decide(self, request: Received) -> Decided:
        """What is replied to a request, and why; nothing is noted."""
        talk = read_request(request, [task for task in self._plans if task])
        task = _task(talk.question, self._plans)
        if request.asks_to_make or request.asks_if_final:
            return Decided(task, "asked", "asked", None, _word(request, talk))
        key = _key(self._seed, talk)
        known = known_of(talk, self._plans[task])
        at = situation(talk, known, self._seed)
        way, row, due, at = self._way(at, key)
        fault = None
        if way != "repeat" and Random(f"{key} fault").random() < self._faults:
            fault = failing(Failing(at, due, row, Random(f"{key} which")), self._only)
        if self._held and talk.must_call and (fault is None or fault[0] in _NO_CALLS):
            meant = isinstance(due, Call) and due.name in talk.tools and (fault is None or fault[0] != "finish")
            due, fault = due if meant else _any_call(at, Random(f"{key} held")), None
        name, reply = fault or (None, said(due, native=talk.native))
        return Decided(task, at.state, way, name, reply)

    def _way(self, at: Situation, key: str) -> tuple[Way, str, Call | str, Situation]:
        """Which way is taken, the row of its faults, what is to be said, and from where that is seen."""
        trouble = _trouble(at)
        if trouble is None:
            return "right", at.state, actions.right(at), at
        last = at.talk.said[-1]
        if Random(f"{key} follow").random() < (self._follows if trouble.helped else self._alone):
            return "follow", "told" if trouble.helped else at.state, _followed(at, last), at
        if trouble.mistake and Random(f"{key} stuck").random() < self._stuck:
            return "repeat", at.state, at.last or last.words, at
        if not trouble.mistake:
            return "right", at.state, actions.right(at), at
        believing = situation(at.talk, known_of(at.talk, at.known.plan, believing=True), self._seed)
        return "carry_on", believing.state, actions.right(believing), believing


def _any_call(at: Situation, rng: Random) -> Call:
    """Some call, where there has to be one: of several tools any, with what it would take to be of use."""
    name = rng.choice(list(at.talk.tools))
    return actions.with_tool(at, [name]) or Call(name, {})


def _task(question: str, plans: Mapping[str, Plan]) -> str:
    """The longest task that the question holds."""
    return max((task for task in plans if flat(task) in flat(question)), key=len)


def _key(seed: int, talk: Conversation) -> str:
    """What all draws of a decision are made from: ids of patches, which may differ, do not count."""
    said = [(one.name, json.dumps(one.args, sort_keys=True), one.words) for one in talk.said]
    whole = repr((seed, talk.settings, talk.question, said))
    return sha256(_ID.sub("patch", whole).encode(errors="replace")).hexdigest()


def _word(request: Received, talk: Conversation) -> Reply:
    """Yes or no to a question about its last reply: an announcement was no answer, and a call was meant."""
    announced = {words for row in tables()["announcements"].values() for words in row}
    if request.asks_if_final and talk.said and talk.said[-1].words in announced:
        return text('{"done": false}')
    return text(request.yes or "")


def _trouble(at: Situation) -> _Trouble | None:
    """What is wrong, as far as the model can see."""
    if not at.talk.said:
        return None
    last = at.talk.said[-1]
    told = bool(last.notice)
    if last.name is None or not last.ok:
        return _Trouble(told or last.suggested is not None or not _fits(last, at.talk.tools), mistake=True)
    result = last.result or {}
    if result.get("approved") is False:
        return _Trouble(told or bool(result.get("feedback")), mistake=True)
    if at.known.tests == "failed" and at.known.standing and category_of(last.name) == "verify" and not passed(result):
        return _Trouble(told, mistake=True)
    if _rut(at.talk.said, at.known):
        return _Trouble(told, mistake=True)
    return _Trouble(True, mistake=False) if told else None


def _fits(last: Said, tools: Schemas) -> bool:
    """Whether the last call is one of a tool that is there, with arguments that it has; else the error says so."""
    return last.name is not None and last.name in tools and last.args.keys() <= parameters(tools, last.name).keys()


def _rut(said: tuple[Said, ...], known: Known) -> bool:
    """Whether the last call led nowhere: a look around that nobody suggested, or the same as before."""
    last = said[-1]
    before = said[-2] if len(said) > 1 else None
    if before is not None and before.suggested == (last.name, last.args):
        return False
    if before is not None and (before.name, before.args) == (last.name, last.args):
        return True
    return category_of(last.name or "") == "discovery" and not (known.searched and len(said) == 1)


def _followed(at: Situation, last: Said) -> Call | str:
    """What it was told to do, if it can be done with the tools that are there; else what is right."""
    suggested = last.suggested
    if suggested is not None and suggested[0] in at.talk.tools:
        return Call(*suggested)
    named = [name for name in re.findall(r"[\w.-]*\w", last.notice) if name in at.talk.tools and name != last.name]
    return actions.with_tool(at, named) or actions.right(at)
