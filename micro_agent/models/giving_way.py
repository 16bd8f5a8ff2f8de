"""What a server refuses in every request, noted beside the model, so that it is asked in another way from then on."""

from collections.abc import Sequence
from typing import Any

from micro_agent.models.failures import (
    fails_on_pattern,
    refuses_dots,
    refuses_schema,
    refuses_this_schema,
    refuses_tools,
)
from micro_agent.models.identity import traits_of
from micro_agent.models.vision import require_images
from micro_agent.models.wire_schemas import FORMS, Form, held, wired
from micro_agent.run import Mode, Run
from micro_agent.tools import Tool


def given_way(lm: Any, error: BaseException, mode: Mode, tools: Sequence[Tool]) -> Mode | None:
    """The mode to ask in after ``error``; ``None`` if another way of asking does not help.

    Args:
        lm: The model that was asked.
        error: What came of it.
        mode: The mode of the request.
        tools: Those that were offered.
    """
    traits = traits_of(lm)
    dotted = any("." in tool.name for tool in tools)
    if mode == "native" and not traits.refuses_dots and dotted and refuses_dots(error):
        traits.refuses_dots = True
        return "native"
    if (form := _simpler(error, traits, mode, tools)) is not None:
        traits.schemas = form
        return mode
    if mode == "native" and tools and refuses_tools(error):
        traits.refuses_tools = True
        return "json"
    if mode == "native" and refuses_this_schema(error):
        return "json"  # of this run: another has other tools
    if mode == "json" and not traits.refuses_schema and (refuses_schema(error) or refuses_this_schema(error)):
        traits.refuses_schema = True
        return "json"
    return None


def taken_up(lm: Any, run: Run) -> None:
    """Let ``lm`` begin with what an earlier session of ``run`` had learned of the same server: one prefix goes on.

    Raises:
        ConfigurationError: The run has images, which no record keeps.
    """
    require_images(lm, run)
    traits, last = traits_of(lm), run.calls[-1].request if run.calls else {}
    if getattr(traits, "base_url", None) != run.base_url:
        return
    if (form := last.get("schemas")) in FORMS:
        traits.schemas = max(traits.schemas, form, key=FORMS.index)
    if last.get("format") == "grammar":
        traits.schema_in_prompt = False


def _simpler(error: BaseException, traits: Any, mode: Mode, tools: Sequence[Tool]) -> Form | None:
    """The form of schemas that may do where this one did not; ``None`` where it would be the same for these tools."""
    if mode == "json" and traits.refuses_schema:
        return None
    refused = refuses_this_schema(error) or (mode == "json" and refuses_schema(error))
    form: Form | None = "plain" if refused else "patterns" if fails_on_pattern(error) else None
    if form is None or FORMS.index(form) <= FORMS.index(traits.schemas):
        return None
    sent: Form = max(traits.schemas, "classes", key=FORMS.index)  # those are refused by nobody
    shown = wired if mode == "native" else held
    same = all(shown(tool.schema.inlined, form) == shown(tool.schema.inlined, sent) for tool in tools)
    return None if same else form
