"""What goes over HTTP: the bodies of requests and responses, and where they come from."""

from typing import Annotated, Any, Literal, Self

from fastapi import Path, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from micro_agent.run import Run, Status, Step, Usage
from micro_agent.traces import TraceStore

MAX_STEPS = 1000
"""The most decisions that a client may ask for."""
EXAMPLE_ID = "0f5a3c1b9d8e4f7a8b6c2d1e0f9a8b7c"

RunId = Annotated[
    str, Path(pattern="^[0-9a-f]{32}$", description="32 digits of 0-9 and a-f", examples=[EXAMPLE_ID])
]  # fmt: skip


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value  # 4.0 is an integer in JSON Schema


class _Request(BaseModel):
    """Strict: a number in quotes or a misspelled field is an error and not a guess."""

    model_config = ConfigDict(strict=True, extra="forbid")


class AskRequest(_Request):
    """A question, and how it is to be answered."""

    question: str = Field(pattern=r"\S", description="What is asked; not blank.")
    max_steps: Annotated[int | None, BeforeValidator(_whole)] = Field(
        default=None, ge=1, le=MAX_STEPS, description="Decisions at most; as the server is set up unless given."
    )
    use_tool_calls: bool | None = Field(default=None, description="Native tool calls or JSON; unset: by provider.")
    on_disconnect: Literal["cancel", "continue"] = Field(
        default="cancel", description="What becomes of the run when the client goes away."
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"question": "What is 2*(3+5)?", "max_steps": 4}]})


class ConfirmRequest(_Request):
    """The word on the open question of a run."""

    decision: Literal["approve", "reject"]
    feedback: str | None = Field(default=None, description="Told to the model.")
    args: dict[str, Any] | None = Field(
        default=None,
        description="With `approve`: arguments to be used instead. The run checks them and asks about them once more.",
    )
    sha256: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{64}$",
        description="`confirmation.sha256` of the question that was shown: no other one is then decided.",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"decision": "reject", "feedback": "Keep a copy."}],
            "if": {"properties": {"decision": {"const": "reject"}}},
            "then": {"properties": {"args": {"type": "null"}}},
        }
    )

    @model_validator(mode="after")
    def _approved(self) -> Self:
        if self.args is not None and self.decision == "reject":
            raise ValueError("`args` goes with `approve`")
        return self


_ANSWER: dict[str, Any] = {
    "answer": "The answer is 16.",
    "model_answer": "The answer is 16.",
    "trace_id": EXAMPLE_ID,
    "trace_path": f"traces/{EXAMPLE_ID}.jsonl",
    "status": "completed",
    "termination_reason": "final",
    "steps": [{"tool": "calculator", "args": {"expression": "2*(3+5)"}, "observation": 16}],
    "usage": {
        "lm_calls": 2, "tool_calls": 1, "input_tokens": 900, "output_tokens": 40, "cost_usd": None, "latency_s": 1.5,
    },
    "cost_usd": None,
    "confirmation": None,
    "error": None,
}  # fmt: skip


class Answer(BaseModel):
    """How a run stands: what it answered, or why it did not."""

    answer: str | None = Field(description="`null` unless `status` is `completed`.")
    model_answer: str | None = Field(description="The answer as the model gave it.")
    trace_id: str = Field(pattern="^[0-9a-f]{32}$")
    trace_path: str = Field(description="Where the record is, on the machine of the server.")
    status: Status
    termination_reason: str | None
    steps: list[Step]
    usage: Usage
    cost_usd: float | None = Field(description="US dollars; `null` when it is not known.")
    confirmation: dict[str, Any] | None = Field(
        description="The open question: `tool`, `args`, `shown` where the tool has a preview, `ungrounded` where any "
        "are, `reason`, `expires`, `sha256` and more; `null` when there is none."
    )
    error: dict[str, Any] | None = Field(description="What ended the run: `code`, `message`.")

    model_config = ConfigDict(json_schema_extra={"examples": [_ANSWER]})


class RunState(Answer):
    """A run as it stands now, whether it has ended or not."""

    question: str
    ts: str = Field(description="When it began: UTC, ISO 8601.")
    open: bool = Field(description="Whether it can go on: under way, paused or interrupted.")
    busy: bool = Field(description="Whether a process holds it now.")
    decision: Literal["approve", "reject"] | None = Field(description="The word on `confirmation`, once it is given.")
    damage: str | None = Field(description="What is wrong with its files.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **_ANSWER, "question": "What is 2*(3+5)?", "ts": "2026-11-21T21:32:00.125Z", "open": False,
                    "busy": False, "decision": None, "damage": None,
                }
            ]
        }
    )  # fmt: skip


class RunSummary(BaseModel):
    """A run in a list. What cannot be read is `null`, and `damage` says why."""

    id: str
    ts: str | None
    question: str | None
    status: Status | None
    termination_reason: str | None
    answer: str | None
    open: bool
    busy: bool
    damage: str | None


class Runs(BaseModel):
    """One page of runs, the one written last first."""

    runs: list[RunSummary]
    next: str | None = Field(description="The `cursor` of the next page; `null` on the last one.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "runs": [
                        {
                            "id": EXAMPLE_ID, "ts": "2026-11-21T21:32:00.125Z", "question": "What is 2*(3+5)?",
                            "status": "completed", "termination_reason": "final", "answer": "The answer is 16.",
                            "open": False, "busy": False, "damage": None,
                        }
                    ],
                    "next": None,
                }
            ]
        }
    )  # fmt: skip


class Approval(BaseModel):
    """An open question: a call that waits for a person's word."""

    run_id: str
    question: str | None = Field(description="What the run was asked.")
    tool: str
    args: dict[str, Any]
    kind: Literal["patch", "command", "tool"] = Field(description="What is asked about; `tool`: any other call.")
    id: str | None = Field(description="The id of the patch or the command.")
    shown: dict[str, Any] | None = Field(description="What the tool shows of the call: `text` is the diff or command.")
    edited: dict[str, Any] | None = Field(description="The arguments of the model, where a person changed them.")
    fault: str | None = Field(description="Why the arguments that a person gave were not taken.")
    ungrounded: list[str] = Field(
        description="Arguments, such as `items[2].name`, with words or numbers that are in no question and no result."
    )
    reason: str
    sha256: str = Field(description="Send it with the decision, so that no other question is decided.")
    expires: str | None = Field(description="Until when it can be decided: UTC, ISO 8601; `null`: for ever.")
    since: str = Field(description="When the run last wrote its journal: UTC, ISO 8601.")
    busy: bool = Field(description="Whether a process waits for the word; else the server goes on with the run.")


class Approvals(BaseModel):
    """All open questions, the newest first."""

    approvals: list[Approval]

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "approvals": [
                        {
                            "run_id": EXAMPLE_ID, "question": "Tidy up, please.", "tool": "delete",
                            "args": {"path": "old.txt"}, "kind": "tool", "id": None, "shown": None, "edited": None,
                            "fault": None, "ungrounded": ["path"], "reason": "This tool asks for confirmation.",
                            "sha256": "9f" * 32, "expires": "2026-11-22T21:32:00.125Z",
                            "since": "2026-11-21T21:32:00.125Z", "busy": False,
                        }
                    ]
                }
            ]
        }
    )  # fmt: skip


class Fault(BaseModel):
    """One fault of a request."""

    at: str = Field(description="Where it is, such as `body.question`.")
    message: str


class Problem(BaseModel):
    """What went wrong. Programs match on `code`; docs/server.md lists the codes."""

    code: str
    message: str = Field(description="One line for a person.")
    faults: list[Fault] | None = Field(default=None, description="With `invalid_request`.")


class Error(BaseModel):
    """The body of every response that is an error."""

    error: Problem


def answer_of(run: Run, store: TraceStore) -> Answer:
    """The answer that a run gives. It may hold secrets: send it by `sent`."""
    return Answer(**_standing(run, store))


def state_of(run: Run, store: TraceStore, **more: Any) -> RunState:
    """The state of a run with what `TraceStore.open_runs` knows of it. It may hold secrets: send it by `sent`."""
    return RunState(**_standing(run, store), question=run.question, ts=run.ts, **more)


def sent(body: BaseModel, store: TraceStore, *, status: int = 200) -> Response:
    """A response with this body, its secrets masked. Text that has no form in UTF-8 is escaped."""
    return Response(store.masked(body), status, media_type="application/json")


def _standing(run: Run, store: TraceStore) -> dict[str, Any]:
    same = ("answer", "model_answer", "status", "termination_reason", "steps", "usage", "confirmation", "error")
    found = {name: getattr(run, name) for name in same}
    return {**found, "trace_id": run.id, "trace_path": str(store.path(run.id)), "cost_usd": run.usage.cost_usd}
