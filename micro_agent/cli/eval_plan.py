"""What an eval is going to do: made from options, or taken up from the header of a result file."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, __version__
from micro_agent.cancel import Cancel
from micro_agent.cli.eval_servers import check_moved, conflict, given, whereabouts
from micro_agent.cli.options import measured_model, rules_of, tools_of
from micro_agent.coder import MAX_STEPS, coding_agent, settings_for
from micro_agent.coding.coach import settings_of
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.coding.asking import ask_in_place
from micro_agent.evaluation.coding.places import Place, Places
from micro_agent.evaluation.datasets import LargeDataset, Tasks, draw, have_repositories, ids_of, open_tasks
from micro_agent.evaluation.faults import FaultyAsk, arms_of, twin_of
from micro_agent.evaluation.result import LISTED, Header, Rubric
from micro_agent.evaluation.results import ResultFile, place_of
from micro_agent.evaluation.rubrics import rubric_for
from micro_agent.evaluation.runner import Ask, DamagesOf, agent_ask
from micro_agent.evaluation.shards import Shard
from micro_agent.evaluation.trials import Trial, left, remaining, trials
from micro_agent.models.identity import provider_of, traits_of
from micro_agent.models.recorded import recorded_lm
from micro_agent.models.settings import PROVIDERS, Settings
from micro_agent.planning.given_demos import given_demos
from micro_agent.rules.limits import Limits
from micro_agent.run import Run, new_id
from micro_agent.tools import Tool, digest


@dataclass(frozen=True, slots=True)
class Asked:
    """The options that say what an eval does. ``timeout`` is in seconds a task, ``faults`` a share of the replies.

    ``max_steps`` is ``None`` where none were named: 6, or 25 where a task has a repository.
    """

    tasks: Path
    n: int | None
    tags: tuple[str, ...]
    seed: int | None
    epochs: int
    rubrics: Path | None
    timeout: float | None
    max_steps: int | None
    provider: str | None
    model: str | None
    base_url: tuple[str, ...]
    mode: str
    faults: float | None = None
    demos: Path | None = None
    samples: int | None = None
    shard: Shard | None = None

    def __post_init__(self) -> None:
        if self.faults is not None and not 0 < self.faults <= 1:
            told = (
                f"--faults must be a share of the replies, more than 0 and at most 1, such as 0.3, not {self.faults:g}"
            )
            raise ConfigurationError(told)


@dataclass(frozen=True, slots=True)
class Plan:
    """An eval that can start: the open file, what is to be asked, and who asks."""

    file: ResultFile
    todo: Iterable[Trial]
    """Gone through once."""
    left: int
    """How many those are."""
    ask: Ask
    damages_of: DamagesOf | None = None
    lm: Any = None
    base_urls: tuple[str, ...] = ()
    """The addresses that are named today."""


def made(out: Path | None, asked: Asked, found: Settings) -> list[Plan]:
    """A new eval, its file created; with faults a second one, whose file lies beside it.

    Raises:
        ConfigurationError: An option or a file is wrong, or the model cannot be used; nothing was written.
        StorageError: The file cannot be written.
    """
    dataset = open_tasks(asked.tasks)
    seed = asked.seed or 0
    tasks = draw(dataset.tasks, asked.n, seed, asked.tags)
    tools = tools_of(found)
    lm = measured_model(found, asked.provider, asked.model, asked.base_url)
    seeded = asked.epochs > 1 or asked.seed is not None
    codes = have_repositories(tasks)
    header = Header(
        dataset=str(asked.tasks), dataset_sha256=dataset.sha256, **_named(tasks), epochs=asked.epochs,
        seed=seed, **_part(tasks, asked), rubric=rubric_for(asked.tasks, asked.rubrics), settings={
            **settings_of_model(lm, found, tools, asked.demos), "mode": asked.mode, "max_time": asked.timeout,
            "max_steps": (MAX_STEPS if codes else 6) if asked.max_steps is None else asked.max_steps,
            "seeded": seeded, "tags": list(asked.tags),
            **({"coach": replace(settings_for(lm, found), exemplars=0).record()} if codes else {}),
        },
    )  # fmt: skip
    asker = Asker(header, lm, tools, found, asked.base_url)
    headers = [header]
    if asked.faults is not None:
        faults = {"faults": {"rate": asked.faults, "seed": seed}}
        headers.append(header.model_copy(update={"id": new_id(), "settings": {**header.settings, **faults}}))
    return _created(out or place_of(header), headers, tasks, asker)


def settings_of_model(lm: Any, found: Settings, tools: dict[str, Tool], demos: Path | None) -> dict[str, Any]:
    """What a header says of the model, of how it is asked, and of the tools and demos: `asker_of` makes it again."""
    return {
        "provider": provider_of(lm), "model": lm.model, **whereabouts(lm),
        "sampling": dict(lm.kwargs), "num_ctx": getattr(lm.engine, "num_ctx", None), "llm_timeout": found.llm_timeout,
        "version": __version__, "demos": None if demos is None else str(demos),
        "digests": _digests(tools, found, demos),
        **({"fallback_from": lm.fallback_from} if lm.fallback_from else {}),
        **({} if found.ollama_think is None else {"think": found.ollama_think}),
        "finish": found.micro_agent_finish, "samples": found.samples, "resamples": found.resamples,
        **({"no_required_tools": True} if found.micro_agent_no_required_tools else {}),
    }  # fmt: skip


def _named(tasks: Tasks) -> dict[str, Any]:
    """The tasks in a header: their ids, or how many there are."""
    return {"tasks": [], "drawn": len(tasks)} if len(tasks) > LISTED else {"tasks": list(ids_of(tasks))}


def _created(path: Path, headers: list[Header], tasks: Tasks, asker: "Asker") -> list[Plan]:
    if len(headers) > 1 and os.path.lexists(twin_of(path)):
        raise ConfigurationError(f"{twin_of(path)} is there already: resume it, or choose another name")
    files = [ResultFile.create(place, header) for place, header in zip((path, twin_of(path)), headers, strict=False)]
    return [asker.plan(file, _todo(tasks, file), left(file)) for file in files]


def all_taken_up(path: Path, asked: Asked, found: Settings, said: frozenset[str], *, retry_errors: bool) -> list[Plan]:
    """The eval of a result file, and that with faults or without beside it; raises as `taken_up`."""
    plans: list[Plan] = []
    try:
        for place in arms_of(path):
            plans.append(taken_up(place, asked, found, said, retry_errors=retry_errors))
    except BaseException:
        for plan in plans:
            plan.file.close()
        raise
    return plans


def taken_up(path: Path, asked: Asked, found: Settings, said: frozenset[str], *, retry_errors: bool) -> Plan:
    """The eval of one result file, which goes on with what its header says. ``said``: the options that were given.

    Raises:
        ConfigurationError: An option, the tasks, the tools or the demos differ from what the file was begun with.
        RunBusy: Another process writes to the file.
        StorageError: It cannot be read or written.
    """
    file = ResultFile.resume(path)
    try:
        header = file.header
        if header.settings.get("provider") not in PROVIDERS:
            raise ConfigurationError(f"{path} was not made by `micro-agent eval run`: it cannot go on with it")
        _refuse_conflicts(path, header, asked, said)
        tasks = _same_tasks(path, header, asked.tasks if "tasks" in said else Path(header.dataset))
        today = given(asked.base_url, header.settings["base_url"], said="base_url" in said)
        begun = f"those that {path} was begun with: start another eval"
        asker = asker_of(header, found, today, whose=str(path), others=begun)
        return asker.plan(file, _todo(tasks, file, retry_errors=retry_errors), left(file, retry_errors=retry_errors))
    except BaseException:
        file.close()
        raise


def asker_of(header: Header, found: Settings, today: Sequence[str], *, whose: str, others: str) -> "Asker":
    """Who asks as a header says. ``today``: the addresses that are named; ``whose`` header it is.

    Raises:
        ConfigurationError: The tools or the demos are not those of the header, which ``others`` goes on to say; or the
            model cannot be used.
    """
    found = found.model_copy(
        update={
            "llm_timeout": header.settings["llm_timeout"],
            "ollama_num_ctx": header.settings["num_ctx"] or found.ollama_num_ctx,
            "ollama_think": header.settings.get("think"),
            "micro_agent_finish": header.settings.get("finish", "text"),  # nobody was asked before it was there
            "samples": header.settings.get("samples", 1),
            "resamples": header.settings.get("resamples", 0),
            "micro_agent_no_required_tools": header.settings.get("no_required_tools", False),
        }
    )
    tools = tools_of(found)
    for what, now in _digests(tools, found, header.settings.get("demos")).items():
        if header.settings["digests"][what] != now:
            raise ConfigurationError(f"the {what} are not {others}")
    return Asker(header, _same_model(whose, header, found, today), tools, found, today)


def _part(tasks: Tasks, asked: Asked) -> dict[str, Any]:
    """What the header of a shard has beside that of the whole eval."""
    if asked.shard is None:
        return {}
    keys = ((name, epoch) for name in ids_of(tasks) for epoch in range(asked.epochs))
    return {"shard": str(asked.shard), "trials": sum(map(asked.shard.holds, keys))}


def _todo(tasks: Tasks, file: ResultFile, *, retry_errors: bool = False) -> Iterator[Trial]:
    header = file.header
    every = trials(tasks, header.epochs, header.seed, seeded=header.settings["seeded"])
    if header.shard is not None:
        shard = Shard.parse(header.shard)
        every = (trial for trial in every if shard.holds(trial.key))
    return remaining(every, file, retry_errors=retry_errors)


def _digests(tools: dict[str, Tool], found: Settings, demos: str | Path | None) -> dict[str, str]:
    compiled = given_demos(demos, found).compiled.model_dump_json()
    return {"tools": digest(tools), "demos": sha256(compiled.encode()).hexdigest()}


class Asker:
    """Makes agents as a header says, and of them who asks. Tasks that have a repository get the coding agent."""

    def __init__(
        self, header: Header, lm: Any, tools: dict[str, Tool], found: Settings, today: Sequence[str]
    ) -> None:  # fmt: skip
        self._lm, self._tools, self._found, self._mode = lm, list(tools.values()), found, header.settings["mode"]
        self._today = tuple(today)
        self._demos: str | None = header.settings.get("demos")
        self._limits = Limits(max_steps=header.settings["max_steps"], max_time=header.settings["max_time"])
        self._helps = settings_of(header.settings["coach"]) if "coach" in header.settings else None
        self._closed = [Path(header.dataset).resolve()]
        self._places = Places()
        traits_of(lm)  # what a server refuses is noted beside the original, for all copies

    def plan(self, file: ResultFile, todo: Iterable[Trial], left: int) -> Plan:
        """The eval of a file, with faults if its header says so."""
        return Plan(file, todo, left, *self.asking(file.header), self._lm, self._today)

    def asking(self, header: Header) -> tuple[Ask, DamagesOf | None]:
        """Who asks, with faults if this header says so."""
        faults = header.settings.get("faults")
        if faults is None:
            return self._plain(), None
        ask = FaultyAsk(self._lm_for, self._asked, faults["rate"], faults["seed"])
        return ask, ask.damages_of

    def close(self) -> None:
        """Remove the copies of repositories."""
        self._places.close()

    def _plain(self) -> Ask:
        of_agent = agent_ask(lambda seed: self._agent_of(self._lm_for(seed)))

        def ask(trial: Trial, cancel: Cancel) -> Run:
            if trial.task.repository is None:
                return of_agent(trial, cancel)
            return self._asked(self._lm_for(trial.seed), trial, cancel)

        return ask

    def _asked(self, lm: Any, trial: Trial, cancel: Cancel) -> Run:
        """A trial asked of a model, by an agent of its own."""
        if trial.task.repository is None:
            return self._agent_of(lm).ask(trial.task.question, cancel=cancel)
        return ask_in_place(trial, cancel, places=self._places, agent_for=lambda place: self._coder_of(lm, place))

    def _coder_of(self, lm: Any, place: Place) -> MicroAgent:
        return coding_agent(
            place.repo, lm=lm, mode=self._mode, settings=self._helps, confirm="all", limits=self._limits,
            state_dir=place.state, masked=self._closed, environment=self._found,
        )  # fmt: skip

    def _lm_for(self, seed: int | None) -> Any:
        return self._lm if seed is None else self._lm.copy(seed=seed)

    def _agent_of(self, lm: Any) -> MicroAgent:
        return MicroAgent(
            self._tools, lm, self._mode, rules_of(self._found), self._limits, None, confirm="never",
            settings=self._found, demos=self._demos,
        )  # fmt: skip


def _refuse_conflicts(path: Path, header: Header, asked: Asked, said: frozenset[str]) -> None:
    old = header.settings
    pairs: dict[str, tuple[Any, Any]] = {
        "n": (asked.n, header.size), "tag": (list(asked.tags), old["tags"]), "seed": (asked.seed, header.seed),
        "epochs": (asked.epochs, header.epochs), "timeout": (asked.timeout, old["max_time"]),
        "max_steps": (asked.max_steps, old["max_steps"]), "provider": (asked.provider, old["provider"]),
        "model": (asked.model, _model_name(header)), "mode": (asked.mode, old["mode"]),
        "use_tool_calls": (asked.mode, old["mode"]),
        "demos": (None if asked.demos is None else str(asked.demos), old.get("demos")),
        "samples": (asked.samples, old.get("samples", 1)),
        "shard": (asked.shard and str(asked.shard), header.shard),
        "base_url": conflict(asked.base_url, old["base_url"]),
    }  # fmt: skip
    if old.get("faults") or len(arms_of(path)) == 1:
        pairs["faults"] = (asked.faults, (old.get("faults") or {}).get("rate"))
    if "rubrics" in said:
        pairs["rubrics"] = (rubric_for(asked.tasks, asked.rubrics), header.rubric)
    if "no_required_tools" in said:
        pairs["no_required_tools"] = (True, old.get("no_required_tools", False))
    for name, (now, then) in pairs.items():
        if name in said and now != then:
            told = f"--{name.replace('_', '-')} is not what {path} was begun with"
            raise ConfigurationError(f"{told} ({_shown(now, then)}): leave it out, or start another eval")


def _shown(now: Any, then: Any) -> str:
    return "its weights differ" if isinstance(now, Rubric) else f"{now!r}, then {then!r}"


def _same_tasks(path: Path, header: Header, named: Path) -> Tasks:
    dataset = open_tasks(named)
    if dataset.sha256 != header.dataset_sha256:
        raise ConfigurationError(f"{named} has changed since {path} was begun: put it back, or start another eval")
    if header.drawn is not None or isinstance(dataset, LargeDataset):
        return draw(dataset.tasks, header.size, header.seed, header.settings["tags"])
    by_id = {task.id: task for task in dataset.tasks}
    return [by_id[name] for name in header.tasks]


def _same_model(whose: str, header: Header, found: Settings, today: Sequence[str]) -> Any:
    """The model of the header, with its sampling settings and no others. ``today``: the addresses that are named."""
    old = header.settings
    lm = recorded_lm(old["provider"], _model_name(header), old["base_url"], found, given=today)
    check_moved(whose, lm, old)
    return lm.copy(**{**dict.fromkeys(lm.kwargs), **old["sampling"]})


def _model_name(header: Header) -> str:
    """As it is given to `configure_lm`: without the provider, except for LiteLLM, which takes both."""
    model: str = header.settings["model"]
    return model if header.settings["provider"] == "litellm" else model.partition("/")[2]
