"""What is known of a model from its `dspy.LM`: one of `configure_lm` says it, others are read from their name."""

from dataclasses import dataclass, field
from typing import Any, Literal

from micro_agent.models.wire_schemas import Form
from micro_agent.run import Finish, Mode

Wanted = Literal["auto", "native", "json"]
WantedFinish = Literal["auto", "call", "ask", "text"]


@dataclass(frozen=True, slots=True)
class Served:
    """Which model a server says that it has, so that two can be compared; ``None``: it does not say."""

    name: str | None = None
    """As it lists it: without the folder and the ending of a file."""
    length: int | None = None
    weights: str | None = None
    """What tells them from others of that name, such as how many they are and in how many bytes."""
    template: str | None = None
    """The sha256 of its chat template."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a server says of itself and of the model that it has loaded; ``None``: it does not say."""

    length: int | None = None
    """Tokens of the context."""
    software: Literal["llama.cpp"] | None = None
    template_has_tools: bool | None = None
    vision: bool | None = None
    """Whether the model takes images."""
    served: Served = field(default=Served(), compare=False)
    silent: str | None = field(default=None, compare=False)
    """Why it gave no answer at all."""


class Traits:
    """What was found out about the server of a model. Our engines are one; others get one beside the model."""

    refuses_tools: bool = False
    refuses_schema: bool = False
    refuses_dots: bool = False
    takes_n: bool = False
    """Whether it is asked for several replies in one request."""
    plain_questions: bool = False
    """Whether it refused to hold a reply to a schema beside tools that must not be called."""
    finish: Finish = "text"
    """Whether its model is asked if prose is its final answer, unless an agent says otherwise."""
    schemas: Form = "verbatim"
    """The form in which it is sent schemas."""
    schema_in_prompt: bool = True
    """Whether the schema that a reply is held to may be part of the prompt; otherwise it becomes a grammar alone."""
    context_limit: int | None = None
    """The length of the context that a refusal named."""
    told: Told | None = None
    """What it said when it was asked, if it was."""


def traits_of(lm: Any) -> Any:
    """Where it stands what a model's server refuses, and how long its context is: on our engines or beside the model.

    Ask before the LM is copied: its copies share the answer.
    """
    engine = getattr(lm, "engine", None)
    return engine if hasattr(engine, "refuses_tools") else lm.__dict__.setdefault("_micro_agent_traits", Traits())


def addresses_of(lm: Any) -> str | list[str] | None:
    """Where the server of a model is; a list where there are several."""
    traits = traits_of(lm)
    several = getattr(traits, "base_urls", None)
    return list(several) if several else getattr(traits, "base_url", None)


def provider_of(lm: Any) -> str:
    """The provider's name, such as ``openai``."""
    named = getattr(lm, "provider_name", None) or getattr(getattr(lm, "engine", None), "provider", None)
    return str(named or (lm.model.split("/")[0] if "/" in lm.model else "openai"))


def finish_of(lm: Any, wanted: WantedFinish = "auto") -> Finish:
    """What becomes of prose: as ``wanted``, else what suits the server where the answer is one text."""
    return traits_of(lm).finish if wanted == "auto" else wanted


def mode_of(lm: Any, wanted: Wanted = "auto") -> Mode:
    """The mode to work in: as ``wanted``, else native tool calls unless the provider is Ollama or refused tools before.

    A model that neither we nor the prefixes ``openai/`` and ``ollama`` tell about has native mode if DSPy knows that it
    calls functions.
    """
    if wanted != "auto":
        return wanted
    if traits_of(lm).refuses_tools:
        return "json"
    if (default := getattr(traits_of(lm), "default_mode", None)) is not None:
        return default
    provider = provider_of(lm)
    if provider.startswith("ollama"):
        return "json"
    return "native" if provider == "openai" or lm.supports_function_calling else "json"
