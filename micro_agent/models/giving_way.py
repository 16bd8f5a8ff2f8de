"""What a server refuses in every request, noted beside the model, so that it is asked in another way from then on."""

from collections.abc import Sequence
from typing import Any

from micro_agent.models.failures import refuses_dots, refuses_schema, refuses_tools
from micro_agent.models.identity import traits_of
from micro_agent.run import Mode


def given_way(lm: Any, error: BaseException, mode: Mode, names: Sequence[str]) -> Mode | None:
    """The mode to ask in after ``error``; ``None`` if another way of asking does not help.

    Args:
        lm: The model that was asked.
        error: What came of it.
        mode: The mode of the request.
        names: Those of the tools.
    """
    traits = traits_of(lm)
    if mode == "native" and not traits.refuses_dots and any("." in name for name in names) and refuses_dots(error):
        traits.refuses_dots = True
        return "native"
    if mode == "native" and names and refuses_tools(error):
        traits.refuses_tools = True
        return "json"
    if mode == "json" and not traits.refuses_schema and refuses_schema(error):
        traits.refuses_schema = True
        return "json"
    return None
