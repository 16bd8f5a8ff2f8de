# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""`MicroAgent`: tools, rules, limits and a model, put to work on a question."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy

from micro_agent.cancel import Cancel
from micro_agent.demos import instructions
from micro_agent.effects import Approval
from micro_agent.files.known_secrets import remember_model
from micro_agent.mcp import with_mcp
from micro_agent.models import configure_lm
from micro_agent.models.context_length import asked_beforehand
from micro_agent.models.identity import Wanted, WantedFinish, traits_of
from micro_agent.models.recorded import model_of
from micro_agent.models.settings import Settings, load_settings
from micro_agent.planning.given_demos import given_demos
from micro_agent.planning.signature import PlanWithTools, compiling
from micro_agent.program.history import History
from micro_agent.program.module import Program
from micro_agent.program.signature import AgentSignature
from micro_agent.rules import Rule
from micro_agent.rules.coach import NO_COACH, Coach
from micro_agent.rules.limits import Limits
from micro_agent.run import Run
from micro_agent.running import given
from micro_agent.running.coaching import Coaching
from micro_agent.running.dspy_callbacks import module_call
from micro_agent.running.session import Confirmation, OnStep, Session, adrive, drive
from micro_agent.running.setup import Setup
from micro_agent.streaming import OnEvent, StreamEvent, astream, stream
from micro_agent.tools import toolset
from micro_agent.traces import TraceStore


class MicroAgent(Program):
    """An agent. Safe to share between threads and tasks: all that changes during a run belongs to the run.

    Args:
        signature_or_tools: ``signature`` or ``tools``, whichever it is.
        tools: `Tool` objects, ``dspy.Tool`` objects or plain typed functions. ``None``: the built-in tools and plugins.
        lm: The model, or its name (``"ollama_chat/…"``). ``None``: DSPy's, if it has one, else that of `configure_lm`.
        mode: ``native`` tool calls, ``json`` decisions, or ``auto``: what suits the provider.
        rules: ``None``: required tools and repetition; ``[]``: none. Limits hold in any case.
        limits: When to stop; 6 decisions unless said otherwise.
        traces: Where runs are written: a folder or a store. ``None`` writes nothing, and a run that is killed is lost.
        demos: Few-shot demos: a file, a list, ``[]`` for none. ``None``: the file that ``COMPILED_DEMOS_PATH`` names
            (``opt/plan_demos.json``) if it is there and made for this model and mode, else default ones in JSON mode.
        confirm: What happens when a tool asks for confirmation: ``pause`` the run, ``never`` (the model is told),
            ``all`` (approved unseen), or a function that takes the question and returns an `Approval`.
        settings: Prices, paths and bounds; ``None`` reads the environment.
        system: A task or persona, added to the instructions in the system prompt; it is kept in each run's record.
        finish: Whether prose is the answer (``text``), the model is asked first (``ask``), or outputs come in a call
            (``call``); ``auto``: in a call where they are not one text, else what suits the server.
        signature: A ``dspy.Signature`` or its string, such as ``"document, question -> answer: str, sure: bool"``.
        samples: How many replies are asked for at most, of which the best is taken; ``None``: as the settings say.
        resamples: How often a reply that comes to nothing is sampled again unseen; ``None``: as the settings say.
        mcp: MCP servers whose tools it has too, as `micro_agent.mcp.mcp_tools` takes them (a file with ``mcpServers``).
        coach: What helps a weak model at one kind of work, such as `micro_agent.coding.coach.coding_coach`.
    """

    def __init__(
        self, signature_or_tools: Any = None, /, lm: dspy.LM | str | None = None, mode: Wanted = "auto",
        rules: Sequence[Rule] | None = None, limits: Limits | None = None,
        traces: TraceStore | str | Path | None = None, *, demos: str | Path | list[dict[str, Any]] | None = None,
        confirm: Confirmation = "pause", settings: Settings | None = None, system: str | None = None,
        finish: WantedFinish = "auto", signature: str | type[dspy.Signature] | None = None, tools: Any = None,
        samples: int | None = None, resamples: int | None = None, coach: Coach = NO_COACH, mcp: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        settings = settings or load_settings()
        signature, tools = given.signature_and_tools(signature_or_tools, signature, tools)
        self.signature, known = AgentSignature.of(signature), toolset(with_mcp(tools, mcp))
        wanted = given.finish(finish, settings, typed=self.signature.is_typed)
        outputs = self.signature.outputs(wanted, known)
        shots = given_demos(demos, settings, typed=outputs.submit is not None, tools=known)
        self._setup = Setup(
            known, given.mode(mode), given.rules(rules), given.limits(limits) or Limits(), given.traces(traces, known),
            given.confirm(confirm), settings, Coaching(coach, _coach_of), shots,
            "\n\n".join(filter(None, (self.signature.task, system))) or None, wanted, outputs,
            given.count("samples", samples, settings), given.count("resamples", resamples, settings),
        )  # fmt: skip
        compiled, self.lm = shots.compiled, given.lm(lm, settings)
        for known in filter(None, (self.lm, dspy.settings.lm)):
            remember_model(known.kwargs)  # before a journal is read that may have its key in it
        told = compiled.instructions or instructions(typed=outputs.submit is not None)
        self.plan = dspy.Predict(PlanWithTools.with_instructions(told))
        self.plan.demos = [demo.plain() for demo in compiled.demos]

    @module_call
    def ask(
        self, question: str | None = None, *, history: History | None = None, limits: Limits | None = None,
        on_event: OnEvent | None = None, on_step: OnStep | None = None, cancel: Cancel | None = None, **inputs: Any,
    ) -> Run:  # fmt: skip
        """Answer a question, or do what the signature says with ``inputs``. ``history``: the run or messages before it.

        What a model, tool or server does never raises: ``run.status`` and ``run.error`` say it.
        ``on_step`` is called with each step, ``on_event`` with each `StreamEvent` (the wire then streams); ``cancel``
        ends the run when it is set.

        Raises:
            ConfigurationError: There is no model to ask, or the history is none.
            StorageError: The run cannot be written down; nothing was done.
            RunInterrupted: Ctrl-C; the run is on record.
            TypeError: The inputs are not those of the signature.
        """
        run = self._begun(question, inputs, history)
        return drive(self._session(run, limits=limits, emit=on_event, on_step=on_step, cancel=cancel))

    @module_call
    async def aask(
        self, question: str | None = None, *, history: History | None = None, limits: Limits | None = None,
        on_event: OnEvent | None = None, cancel: Cancel | None = None, **inputs: Any,
    ) -> Run:  # fmt: skip
        """`ask`, awaited. A cancelled task leaves its run on record."""
        run = self._begun(question, inputs, history)
        return await adrive(await self._asession(run, limits=limits, emit=on_event, cancel=cancel))

    def stream(self, question: str | None = None, *, history: History | None = None, limits: Limits | None = None,
               **inputs: Any) -> Iterator[StreamEvent]:  # fmt: skip
        """`ask` as it goes: `Started`, `StepTaken`, `AnswerText`, at last `Ended`. Leaving it early cancels the run."""
        cancel, inputs = Cancel(), {**inputs, "history": history, "limits": limits}
        return stream(lambda emit: self.ask(question, on_event=emit, cancel=cancel, **inputs), cancel)

    def astream(self, question: str | None = None, *, history: History | None = None, limits: Limits | None = None,
                **inputs: Any) -> AsyncIterator[StreamEvent]:  # fmt: skip
        """`stream`, awaited."""
        inputs = {**inputs, "history": history, "limits": limits}
        return astream(lambda emit: self.aask(question, on_event=emit, **inputs))

    @module_call
    def resume(self, run: Run | str, decision: Approval | None = None, *, on_event: OnEvent | None = None,
               cancel: Cancel | None = None) -> Run:  # fmt: skip
        """Go on with a run that paused or was killed: by its id, or as it was returned where no traces are written.

        ``decision`` is the word on its open question, if it was not given elsewhere (``micro-agent approve``).

        Raises:
            RunNotFound: No such run is open.
            RunBusy: Another process holds it.
        """
        return drive(self._setup.resumed(self.plan, self._model, run, decision, emit=on_event, cancel=cancel))

    @module_call
    async def aresume(self, run: Run | str, decision: Approval | None = None, *, on_event: OnEvent | None = None,
                      cancel: Cancel | None = None) -> Run:  # fmt: skip
        """`resume`, awaited, with its events."""
        return await adrive(self._setup.resumed(self.plan, self._model, run, decision, emit=on_event, cancel=cancel))

    def _session(self, run: Run, lm: Any = None, *, limits: Limits | None = None, **options: Any) -> Session:
        return self._setup.session(self.plan, lm or self._model(), run, limits=given.limits(limits), **options)

    async def _asession(self, run: Run, **options: Any) -> Session:
        await asked_beforehand(lm := self._model())
        return self._session(run, lm, **options)

    def _model(self, resumed: Run | None = None) -> Any:
        """The model of one run. While an optimizer compiles, its own is the one to ask."""
        lm = (dspy.settings.lm if compiling() else None) or self.plan.lm or self.lm or dspy.settings.lm
        if lm is None and resumed is not None:
            lm = model_of(resumed, self._setup.settings)
        elif lm is None:
            lm = self.lm = configure_lm(settings=self._setup.settings)
        remember_model(lm.kwargs)
        traits_of(lm)  # what a server refuses is noted beside the original, for all copies
        return lm.copy(num_retries=0)


def _coach_of(record: Mapping[str, Any]) -> Coach:
    from micro_agent.coding.coach import coach_of

    return coach_of(record)
