"""What a run is: plain, versioned data that the loop fills and everything else reads.

An unknown count or cost is ``None``, never 0.
"""

from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from micro_agent.run.images import Image

from micro_agent.run.markers import (  # isort: skip
    CONFIRMATION_REQUIRED, CONTEXT_TRIMMED, EDITED, FINISH_ASKED, MAKE_ASKED, MALFORMED_DECISION, MARKERS, NO_ACTION,
    POLICY_VIOLATION, REPETITION, SELF_CORRECTION, VALIDATION_ERROR, WARNING,
)  # fmt: skip
from micro_agent.run.saving import ID, SCHEMA_VERSION, load, save

__all__ = [
    "CONFIRMATION_REQUIRED", "CONTEXT_TRIMMED", "EDITED", "FINISH_ASKED", "MAKE_ASKED", "MALFORMED_DECISION",
    "MARKERS", "NO_ACTION", "POLICY_VIOLATION", "REPETITION", "SCHEMA_VERSION", "SELF_CORRECTION", "VALIDATION_ERROR",
    "WARNING", "Finish", "FinishedBy", "LMCall", "Mode", "Run", "Status", "Step", "Usage", "new_id", "utc_now",
]  # fmt: skip

Status = Literal["running", "completed", "confirmation_required", "stopped", "failed"]
Mode = Literal["native", "json"]
Finish = Literal["call", "ask", "text"]
FinishedBy = Literal["submit", "final", "asked", "prose"]


class _Data(BaseModel):
    """Unknown keys are kept, so that a record of a newer version survives being read and written by this one."""

    model_config = ConfigDict(extra="allow", protected_namespaces=(), ser_json_inf_nan="strings")


class Step(_Data):
    """One tool call with its observation, or a step that the loop added (``tool`` is then one of `MARKERS`)."""

    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    observation: Any = None
    result: Any = None  # of a tool, where ``observation`` is cut: all of it, up to 256 KiB of JSON
    call: int | None = None  # index into ``Run.calls`` of the reply that asked for it; ``None``: no reply did
    call_id: str | None = None
    ok: bool = True
    error: str | None = None  # the code (``TOOL_TIMEOUT``, ``VALIDATION_FAILED``, …) when ``ok`` is false
    at: str | None = None  # when its tool, or the question to the model, began: `utc_now`
    latency_s: float | None = None
    coercions: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    edited: dict[str, Any] | None = None  # the arguments as the model gave them, where a person changed them
    usage: "Usage | None" = None  # of the agents that the tool asked, or of a question to the model
    programs: list[dict[str, Any]] | None = None  # what its tool ran in a sandbox, see `asked_within.Program`
    approval: dict[str, Any] | None = None  # the word on its call, see `confirming.Approvals`
    state: str | None = None  # the line that the model is shown behind the observation, see `Coach`

    @property
    def is_tool(self) -> bool:
        """Whether a tool call stands behind this step (run or not), as opposed to a word of the loop."""
        return self.tool not in MARKERS


class LMCall(_Data):
    """One request to the model and what came of it, whatever the number of attempts on the wire."""

    reply: dict[str, Any]
    """The reply as it came: ``text``, ``reasoning``, ``tool_calls`` (each ``id``, ``name``, ``arguments``)."""
    finish_reason: str | None = None
    decision: dict[str, Any] | None = None
    """``{"tool_calls": [{"name", "args", "call_id", "standing"}, …]}`` or ``{"final": "…"}``; ``None``: unreadable."""
    error: dict[str, Any] | None = None  # ``{"reason", "seen", "expected"}`` when the reply could not be read
    repairs: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    prose: bool = False  # whether the final answer was plain text, in no form that says so
    model: str | None = None  # that the server says answered
    server: str | None = None  # the address of the server that answered, where there were several to ask
    mode: Mode = "native"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    at: str | None = None  # when it was asked for the first time: `utc_now`
    latency_s: float = 0.0
    retries: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)  # for sampling, where they differed from the run's
    request: dict[str, Any] = Field(default_factory=dict)
    """``sha256`` of the whole request; ``messages`` in it; ``shared``: how many it has in common with the request
    before; ``chain``: for each message after those, the sha256 of everything up to and including it, ``head``: of what
    comes before the messages; ``tokens``: its size, as estimated; ``steps``: so many there were when it was sent."""
    samples: list["LMCall"] = Field(default_factory=list["LMCall"])  # other replies to the same request, not in force
    fault: Step | None = None  # of one that was thrown away: what the model would have been told
    open: bool = False  # whether another reply to the same request is asked for before one is in force
    chosen: dict[str, Any] | None = None  # of several: its ``index`` among all, and why, see `choosing.why`


class Usage(_Data):
    """What a run has used. ``input_tokens``, ``output_tokens`` and ``cost_usd`` are unknown once one call's are."""

    lm_calls: int = 0
    tool_calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd: float | None = 0.0
    latency_s: float = 0.0
    recorded_bytes: int | None = None  # the text of its replies and of what tools returned, in UTF-8


def new_id() -> str:
    """A fresh run id: 32 lower-case hexadecimal digits."""
    return uuid4().hex


def utc_now() -> str:
    """The time in UTC, ISO 8601 with milliseconds, such as ``2026-11-21T21:32:00.125Z``."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Run(_Data):
    """One question, the steps taken, and how it ended."""

    id: str = Field(default_factory=new_id, pattern=ID)
    ts: str = Field(default_factory=utc_now)
    question: str
    steps: list[Step] = Field(default_factory=list[Step])
    answer: str | None = None
    model_answer: str | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)  # by the names of its signature, as JSON; so are its outputs
    images: list[Image] = Field(default_factory=list[Image])  # "(image 1)" among its inputs is the first of them
    outputs: dict[str, Any] | None = None
    wanted: dict[str, Any] | None = None  # what its outputs have to be, see `Outputs.record`
    finish: Finish | None = None  # whether prose is its answer: not known of old records, of which it was
    finished_by: FinishedBy | None = None  # ``asked``: as prose, which the model called final
    schema_version: int = SCHEMA_VERSION
    status: Status = "running"
    termination_reason: str | None = None
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    context_length: int | None = None
    """Tokens that prompt and reply may have together, as known when the run began; ``reply_reserve`` for the reply."""
    reply_reserve: int | None = None
    mode: Mode | None = None
    fallback_from: list[dict[str, str]] = Field(default_factory=list[dict[str, str]])
    """The providers that were asked for and could not be used: ``{"provider", "reason"}`` each."""
    usage: Usage = Field(default_factory=lambda: Usage(recorded_bytes=0))
    calls: list[LMCall] = Field(default_factory=list[LMCall])
    digests: dict[str, str] = Field(default_factory=dict)
    """sha256 of the tools, the rules and the demos that the run was made with."""
    limits: dict[str, float | int | None] = Field(default_factory=dict[str, float | int | None])
    sampling: dict[str, int] = Field(default_factory=dict[str, int])  # see `run.sampling`
    confirmation: dict[str, Any] | None = None  # the open question of a paused run, see `question_of`
    system: str | None = None  # a task or persona that was added to the instructions
    coach: dict[str, Any] | None = None  # what makes its `Coach` again
    gates: dict[str, Any] | None = None  # how it stood at its end, as its coach says
    traceparent: str | None = None  # the span of a trace that it belongs to (W3C Trace Context), where that is sent
    parent: str | None = None
    forked_at: int | None = None  # so many steps of a fork are copies of its ``parent``'s
    follows: str | None = Field(default=None, pattern=ID)  # the run before it in a conversation
    earlier: tuple["Run", ...] = Field(default=(), exclude=True, repr=False)  # all before it, the first one first
    history: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])  # messages before the first of them
    error: dict[str, Any] | None = None  # ``{"code", "message", …}`` of what ended the run

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the whole run to a file of its own, secrets masked. Raises `StorageError`."""
        return save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Run":
        """Read a run that `save` wrote. Raises `StorageError`."""
        return load(cls, path)
