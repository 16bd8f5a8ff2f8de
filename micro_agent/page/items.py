"""What is shown of a run, as data: the facts, the open question, and one item for each reply and each step."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from micro_agent.page.marks import Mark
from micro_agent.run import Status


class Words(BaseModel):
    """The beginning of a text, and how many characters of it are left out. ``name``: of which field."""

    name: str = ""
    text: str
    left: int = 0


class Marked(BaseModel):
    """A piece of a raw reply; what is ``added`` is not in the reply."""

    text: str
    mark: Mark | None = None


class Made(BaseModel):
    """A tool call of a reply as the server gave it: its arguments as text, repairs marked."""

    name: str
    text: list[Marked]
    left: int


class Mended(BaseModel):
    """One repair: its kind, what stood there and what it was read as."""

    kind: str
    before: Words
    after: Words


class Thrown(BaseModel):
    """Another reply to the same request, which is not in force, and why."""

    said: str
    why: str | None


class ReplyItem(BaseModel):
    """What the model wrote, raw, with its repairs; ``read`` where it was read as something else than it shows."""

    kind: Literal["reply"] = "reply"
    number: int
    text: list[Marked]
    left: int = Field(description="Characters of the text that are left out.")
    reasoning: Words | None
    calls: list[Made]
    repairs: list[Mended]
    read: Words | None
    fault: Words | None = Field(description="Why it could not be read.")
    choice: str | None = Field(description="Of several replies: how this one was chosen.")
    others: list[Thrown]
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    latency_s: float
    retries: int


class Word(BaseModel):
    """What a person said on a call."""

    granted: bool
    kind: str | None
    id: str | None = Field(description="Of the patch or the command.")
    feedback: str | None


class StepItem(BaseModel):
    """A tool call with its result, or a word of the loop (``marker``)."""

    kind: Literal["step"] = "step"
    number: int
    tool: str
    marker: bool
    args: list[Words]
    observation: list[Words]
    fault: str | None = Field(description="The code where it failed.")
    latency_s: float | None
    state: str | None
    edited: list[Words] = Field(description="The arguments of the model, where a person changed them.")
    read_as: list[Words] = Field(description="Arguments that took the types of their schema.")
    approval: Word | None


Item = ReplyItem | StepItem


class Question(BaseModel):
    """The open question, in full, nothing hidden in it: what does not show stands there as an escape."""

    call: str = Field(description="The whole call on one line, in ASCII.")
    tool: str
    args: str = Field(description="The arguments as JSON in ASCII, to be edited.")
    kind: Literal["patch", "command", "tool"]
    id: str | None
    text: str | None = Field(description="The diff or the command that the tool shows.")
    more: list[Words] = Field(description="What else the tool shows.")
    ungrounded: list[str]
    edited: str | None
    fault: str | None
    reason: str
    expires: str | None
    sha256: str | None = Field(description="`null` where a secret is masked in it: it cannot be decided from here.")
    decision: Literal["approve", "reject"] | None


class Turn(BaseModel):
    """A run before this one in its conversation."""

    id: str
    question: str
    said: str | None


class Shown(BaseModel):
    """A run as the page shows it, with the items from ``first`` on."""

    id: str
    ts: str
    question: str
    status: Status
    termination_reason: str | None
    open: bool
    busy: bool
    damage: str | None
    system: Words | None
    earlier: list[Turn]
    follows: str | None
    parent: str | None
    forked_at: int | None
    provider: str | None
    model: str | None
    mode: str | None
    instead: list[str] = Field(description="Providers that could not be used, with why.")
    answer: Words | None
    model_answer: Words | None = Field(description="Where the answer is another.")
    outputs: list[Words]
    gates: str | None
    error: str | None
    lm_calls: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    latency_s: float
    repaired: int = Field(description="Replies that were repaired.")
    confirmation: Question | None
    total: int = Field(description="Items in all.")
    first: int
    items: list[Item]

    model_config = ConfigDict(protected_namespaces=())
