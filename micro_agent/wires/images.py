# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Images as parts of a message."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from dspy.lm15 import ImagePart, Message

from micro_agent.run.images import Image

_DIGEST = "sha256:"


def part_of(image: Image) -> ImagePart:
    """An image; one whose data is not here, as in a replay, is named by its digest and cannot be sent."""
    if image.url is not None:
        return ImagePart(url=image.url)
    media_type = image.media_type or "image/png"
    if image.data is None:
        return ImagePart(file_id=f"{_DIGEST}{image.sha256}", media_type=media_type)
    return ImagePart(data=image.data, media_type=media_type)


def with_images(message: Message, images: Sequence[Image]) -> Message:
    """The message with images behind what it says."""
    return replace(message, parts=(*message.parts, *map(part_of, images))) if images else message


def digested(part: ImagePart) -> list[Any]:
    """What the digest of a message is made of in the place of an image: the same with its data and without."""
    if part.data is not None:
        return ["image", part.media_type, sha256(base64.b64decode(part.data)).hexdigest()]
    return ["image", part.media_type, part.url or str(part.file_id).removeprefix(_DIGEST)]
