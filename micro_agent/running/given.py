"""What a `MicroAgent` is given, in the form that it works with; what it cannot use is refused with what is wanted."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast, get_args

from micro_agent.errors import ConfigurationError
from micro_agent.files.outside import refuse_inside
from micro_agent.models.identity import Wanted, WantedFinish
from micro_agent.models.naming import lm_named
from micro_agent.models.settings import MOST_SAMPLES, Settings
from micro_agent.rules import Rule, default_rules
from micro_agent.rules.limits import Limits
from micro_agent.running.confirming import Confirmation
from micro_agent.tools import Tool
from micro_agent.tools.registry import repositories_of
from micro_agent.traces import TraceStore

_CONFIRM = ("pause", "never", "all")


def lm(given: Any, settings: Settings) -> Any:
    """A model: ``None``, a ``dspy.LM``, or the name of one as DSPy takes it (`lm_named`)."""
    if isinstance(given, str):
        return lm_named(given, settings)
    if given is None or (hasattr(given, "kwargs") and hasattr(given, "copy") and not isinstance(given, type)):
        return given
    raise _refused("lm", given, 'a dspy.LM, or a name such as "ollama_chat/llama3.2:3b" or "openai/gpt-4o-mini"')


def mode(given: Wanted) -> Wanted:
    """A mode."""
    return _one_of("mode", given, get_args(Wanted))


def signature_and_tools(first: Any, signature: Any, tools: Any) -> tuple[Any, Any]:
    """Both, where the first argument is either; a signature is a ``dspy.Signature`` or has an arrow in it."""
    if first is None:
        return signature, tools
    is_signature = hasattr(first, "output_fields") or (isinstance(first, str) and "->" in first)
    name, other = ("signature", signature) if is_signature else ("tools", tools)
    if other is not None:
        raise ConfigurationError(f"{name} was given twice: as the first argument and as {name}=")
    return (first, tools) if is_signature else (signature, first)


def finish(given: WantedFinish, settings: Settings, *, typed: bool) -> WantedFinish:
    """How runs finish; ``auto`` leaves it to the settings, which are about answers of one text."""
    found = _one_of("finish", given, get_args(WantedFinish))
    return settings.micro_agent_finish if found == "auto" and not typed else found


def count(name: Literal["samples", "resamples"], given: Any, settings: Settings) -> int:
    """How many samples are asked for, or asked for again: as the settings say for ``None``."""
    if given is None:
        return getattr(settings, name)
    least = 1 if name == "samples" else 0
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= MOST_SAMPLES:
        raise _refused(name, given, f"a whole number from {least} to {MOST_SAMPLES}")
    return given


def confirm(given: Confirmation) -> Confirmation:
    """Who gives the word on calls: a mode, or a function."""
    return given if callable(given) else _one_of("confirm", given, _CONFIRM, "or a function")


def rules(given: Any) -> list[Rule]:
    """Rules: the default ones for ``None``."""
    if given is None:
        return default_rules()
    listed: list[Any] = list(cast("Iterable[Any]", given)) if isinstance(given, Iterable) else [given]
    for rule in listed:
        if not callable(rule):
            raise _refused("rules", rule, "functions (run, event) -> None | Warn | Violation | Stop")
    return listed


def limits(given: Any) -> Limits | None:
    """Limits. A number is refused: it could be steps, seconds, tokens or dollars."""
    if given is None or isinstance(given, Limits):
        return given
    example = given if isinstance(given, int) and not isinstance(given, bool) else 6
    raise _refused("limits", given, f"Limits(…), such as Limits(max_steps={example})")


def traces(given: Any, tools: Mapping[str, Tool]) -> TraceStore | None:
    """Where runs are written: a store, or the folder of one; outside the repositories that tools work in."""
    if isinstance(given, str | os.PathLike) and os.fspath(cast("str", given)):
        given = TraceStore(cast("str", given))
    if given is not None and not isinstance(given, TraceStore):
        raise _refused("traces", cast("object", given), "a folder or a TraceStore")
    if given is not None:
        for folder in repositories_of(tools):
            refuse_inside(folder, given.directory, "the folder of traces")
            refuse_inside(folder, given.state_dir, "the folder of state")
    return given


def _one_of(name: str, given: Any, known: tuple[str, ...], more: str = "") -> Any:
    if isinstance(given, str) and given in known:
        return given
    raise _refused(name, given, " ".join(filter(None, ["one of", ", ".join(map(repr, known)), more])))


def _refused(name: str, given: object, wanted: str) -> ConfigurationError:
    shown = repr(given) if isinstance(given, str | int | float) else f"a value of type {type(given).__name__}"
    return ConfigurationError(f"{name} is {shown[:80]}: pass {wanted}")
