"""The coding agent: the coding toolset, its coach and a model, put to work in one repository."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from micro_agent.agent import MicroAgent
from micro_agent.coding import GateMode, category_of
from micro_agent.coding.coach import CoachSettings, coding_coach, gates_in
from micro_agent.coding.coaching.work import Done
from micro_agent.coding.exemplars import exemplars_for
from micro_agent.coding.prompts import traits_of_model
from micro_agent.coding.toolset import coding_toolset, store_of
from micro_agent.coding.workplace import Wanted
from micro_agent.files.jsonl import private_folder
from micro_agent.models.announcing import to_stderr
from micro_agent.models.fallback import choose, named
from micro_agent.models.making import lm_of
from micro_agent.models.naming import provider_and_model
from micro_agent.models.settings import Settings, load_settings
from micro_agent.models.target import Target
from micro_agent.rules import Rule, default_rules, repetition, required_tools
from micro_agent.rules.coach import Coach
from micro_agent.rules.limits import Limits
from micro_agent.run import Run, Step
from micro_agent.running.session import Confirmation
from micro_agent.tools import Tool
from micro_agent.traces import TraceStore

MAX_STEPS = 25
TEMPERATURE = 0.1
MODEL = "qwen2.5-coder:14b"
"""Asked of Ollama where no model is named."""

Exemplars = Callable[[Run], str | None]
"""What is shown of similar successes when a run begins."""


def coding_agent(
    repo: str | Path, *, lm: Any = None, mode: Any = "auto", settings: CoachSettings | None = None,
    confirm: Confirmation = "pause", sandbox: Wanted = "auto", limits: Limits | None = None,
    traces: TraceStore | None = None, state_dir: Path | None = None, masked: Sequence[Path] = (),
    exemplars: Exemplars | None = None, demos: str | Path | Sequence[dict[str, Any]] = (),
    tools: Mapping[str, Tool] | None = None, system: str | None = None, environment: Settings | None = None,
    **more: Any,
) -> MicroAgent:  # fmt: skip
    """An agent that works in a repository. All that it is told to do there is done by the tools, with their checks.

    Args:
        repo: A folder in the repository.
        lm: The model, or its name (``"ollama_chat/…"``). ``None``: what the settings name, else ``qwen2.5-coder:14b``
            of Ollama; never OpenAI because there is a key.
        mode: As for `MicroAgent`.
        settings: What helps the model, and how much. ``None``: what is known to suit a model of that name,
            and what the environment says of gates.
        confirm: As for `MicroAgent`.
        sandbox: What commands run in, as for `coding_toolset`.
        limits: When to stop; 25 decisions unless said otherwise.
        traces: Where runs are written. ``None``: the place that `store_of` has for the repository.
        state_dir: The folder of all state; default ``MICRO_AGENT_STATE_DIR``.
        masked: Files and folders that are closed to commands, beside the state and credentials.
        exemplars: What is shown of similar successes when a run begins. ``None``: those in ``traces``, as many as the
            settings say.
        demos: As for `MicroAgent`, but none unless they are named.
        tools: Those that the model gets, if they are made already. ``None``: the coding toolset.
        system: More for the system prompt, before what the coach says.
        environment: Prices, paths and bounds; ``None`` reads the environment.
        **more: What else `MicroAgent` takes.

    Raises:
        ConfigurationError: There is no such repository, its state would be inside it, or the model or the sandbox
            cannot be used.
    """
    environment = (environment or load_settings()).with_defaults(temperature=TEMPERATURE)
    lm = coding_lm(environment=environment) if lm is None else lm
    settings = settings or settings_for(lm, environment)
    traces = traces or store_of(repo, state_dir=state_dir)
    if tools is None:
        closed = [traces.directory, traces.state_dir]
        for folder in closed:
            private_folder(folder)  # what is not there cannot be closed to what runs
        tools = coding_toolset(
            repo, sandbox=sandbox, state_dir=state_dir, masked=[*closed, *masked], edits=settings.edits,
            hints=settings.hints,
        )  # fmt: skip
    offered = list(tools.values())
    shown = exemplars or exemplars_for(traces, settings.exemplars)
    coach = _with(coding_coach(settings, offered), shown)
    more = {"rules": _rules(), **more}
    return MicroAgent(
        tools=offered, lm=lm, mode=mode, limits=limits or Limits(max_steps=MAX_STEPS), traces=traces, confirm=confirm,
        demos=demos if isinstance(demos, str | Path) else list(demos), system=system, coach=coach,
        settings=environment, **more,
    )  # fmt: skip


def _rules() -> list[Rule]:
    """The default ones, but for that on other tools; a call that is made again after a change is no repetition."""
    others = (required_tools.check, repetition.check)
    return [*(rule for rule in default_rules() if rule not in others), repetition.unless(_has_changed)]


def _has_changed(step: Step) -> bool:
    done = Done(0, step, category_of(step.tool))
    return step.ok and (done.category == "apply" or (done.category == "change" and "patch_id" not in done.result))


def settings_for(lm: Any, environment: Settings, *, gates: GateMode = "block") -> CoachSettings:
    """What is known to suit a model, by its name, with what the environment says of gates (``GATE_MODE``), if it does.

    Where people talk, ``gates`` are off: what is said in a conversation is mostly no task.
    """
    traits = traits_of_model(lm if isinstance(lm, str) else lm.model)
    said: dict[str, Any] = {"gates": gates, **gates_in(environment)}
    return CoachSettings(prompt=traits.prompt, edits=traits.edits, **said)


def coding_lm(
    provider: str | None = None, model: str | None = None, base_url: str | None = None, *,
    environment: Settings | None = None,
) -> Any:  # fmt: skip
    """The model that is named, and no other in its place; where nothing is, ``qwen2.5-coder:14b`` of Ollama.

    Raises:
        ConfigurationError: It cannot be used.
    """
    environment = (environment or load_settings()).with_defaults(temperature=TEMPERATURE)
    provider, model = provider_and_model(provider, model)
    asked = Target(provider, model, base_url or None)
    asked = replace(asked, provider=named(asked, environment) or "ollama")
    if asked.provider == "ollama" and not (asked.model or environment.ollama_model):
        asked = replace(asked, model=MODEL)
    return lm_of(choose(asked, environment, fallback=False, announce=to_stderr), environment)


def _with(coach: Coach, exemplars: Exemplars) -> Coach:
    """The coach that also says when a run begins what similar runs did."""

    def system(run: Run) -> str | None:
        return "\n\n".join(filter(None, (coach.system(run), exemplars(run)))) or None

    return replace(coach, system=system)
