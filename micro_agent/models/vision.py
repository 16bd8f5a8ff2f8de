"""Whether the images of a run can be sent."""

from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.identity import traits_of
from micro_agent.run import Run


def require_images(lm: Any, run: Run) -> None:
    """Let a run begin or go on with its images, and with those of the turns before it.

    Raises:
        ConfigurationError: They are on no record, or the model's server says that it takes none.
    """
    images = [image for turn in (*run.earlier, run) for image in turn.images]
    if not all(image.is_here for image in images):
        told = f"run {run.id} has images, and no record keeps those: ask again with them"
        raise ConfigurationError(told if run.images else f"{told}, or without a history")
    told = traits_of(lm).told
    if images and told is not None and told.vision is False:
        what = "start it with the model's --mmproj" if told.software == "llama.cpp" else "ask one that does"
        raise ConfigurationError(f"the model {lm.model} takes no images, as its server says: {what}")
