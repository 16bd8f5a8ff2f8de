"""The images of `micro-agent ask --image`."""

from pathlib import Path

WITH_IMAGES = "question, images: list[dspy.Image] -> answer: str"
"""The signature of an agent that is asked about images."""
MAX_BYTES = 20 * 1024 * 1024
"""Of one image: what OpenAI's API took at most until 2025, and more than any local model looks at."""


def read_image(path: Path) -> bytes:
    """The bytes of an image.

    Raises:
        ConfigurationError: The file cannot be read, is none of an image, or too large.
    """
    from micro_agent.errors import ConfigurationError
    from micro_agent.run.images import image_in

    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"the image {path} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"the image {path} has more than {MAX_BYTES // 1024 // 1024} MiB: make it smaller")
    try:
        image_in(data)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    return data
