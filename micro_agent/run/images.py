"""Images in a question: what a record says of them, and what they are while the process lives."""

import base64
import binascii
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, cast

from pydantic import BaseModel, Field

_SIGNS = (
    ("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
)  # fmt: skip


class Image(BaseModel):
    """One image. Its data is on no record: a run that is read back has its size and digest."""

    media_type: str | None = None
    size: int | None = None
    """Bytes."""
    sha256: str | None = None
    url: str | None = None
    """Where it is, of one that the server is to fetch; nothing else is known of that then."""
    data: str | None = Field(default=None, exclude=True, repr=False)
    """Base64."""

    @property
    def is_here(self) -> bool:
        """Whether it can be sent."""
        return self.data is not None or self.url is not None


def image_at(url: str) -> Image:
    """The image that a URL names, ``data:`` ones included.

    Raises:
        ValueError: It is none that models take.
    """
    if url.startswith(("https://", "http://")):
        return Image(url=url)
    head, comma, data = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        raise ValueError("an image is a file, its bytes, or an https URL")
    try:
        return image_in(base64.b64decode(data, validate=True))
    except binascii.Error as error:
        raise ValueError(f"the data of an image is not base64: {error}") from error


def image_in(data: bytes) -> Image:
    """The image that these bytes are. Raises `ValueError` for what is not PNG, JPEG, GIF or WebP."""
    media_type = next((name for name, sign in _SIGNS if data.startswith(sign)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type = "image/webp"
    if media_type is None:
        raise ValueError("it is not a PNG, JPEG, GIF or WebP image")
    encoded = base64.b64encode(data).decode()
    return Image(media_type=media_type, size=len(data), sha256=sha256(data).hexdigest(), data=encoded)


def placed(value: Any, read: Callable[[Any], Image], images: list[Image]) -> Any:
    """``value``, an image or a list of images, as a record shows it: each as its number, added to ``images``.

    Args:
        value: What was given; ``None`` is no image.
        read: Makes an image of one.
        images: All images of the inputs.
    """
    if isinstance(value, list | tuple):
        return [placed(one, read, images) for one in cast("Sequence[Any]", value)]
    if value is None:
        return None
    images.append(read(value))
    return f"(image {len(images)})"
