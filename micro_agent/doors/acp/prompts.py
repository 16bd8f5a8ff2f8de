"""What a person sends in an editor: text with mentions, files that come along, images."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from micro_agent.errors import ConfigurationError
from micro_agent.run.images import image_in
from micro_agent.text.attached import with_attached

Block = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the images that it is about. Files that come along are attached to the question."""

    question: str
    images: list[bytes]


def asked_in(blocks: Sequence[Block], cwd: Path) -> Asked:
    """What is asked. A file is mentioned by its path from ``cwd``, where it is in there.

    Raises:
        ConfigurationError: There is no text, or something that no model is given.
    """
    said: list[str] = []
    attached: list[str] = []
    images: list[bytes] = []
    for block in blocks:
        if isinstance(block, TextContentBlock):
            said.append(block.text)
        elif isinstance(block, ImageContentBlock):
            images.append(_image(block.data))
        elif isinstance(block, ResourceContentBlock):
            said.append(_name_of(block.uri, cwd))
        elif isinstance(block, AudioContentBlock):
            raise ConfigurationError("no model is given audio here: send text")
        elif isinstance(resource := block.resource, BlobResourceContents):
            if not (resource.mime_type or "").startswith("image/"):
                raise ConfigurationError(f"{resource.uri} is no text: mention it instead of sending it along")
            images.append(_image(resource.blob))
        else:
            name = _name_of(resource.uri, cwd)
            said.append(name)
            attached.append(f"{name}:\n{resource.text}")
    question = "".join(said).strip()
    if not question:
        raise ConfigurationError("there is no question: write what is to be done")
    return Asked(with_attached(question, "\n\n".join(attached)) if attached else question, images)


def _image(data: str) -> bytes:
    try:
        raw = base64.b64decode(data, validate=True)
        image_in(raw)
    except binascii.Error as error:
        raise ConfigurationError(f"the data of an image is not base64: {error}") from error
    except ValueError as error:
        raise ConfigurationError(f"an image cannot be sent: {error}") from error
    return raw


def _name_of(uri: str, cwd: Path) -> str:
    """What a resource is called: a file in ``cwd`` by its path from there, anything else by its address."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    path = Path(unquote(parts.path))
    named = str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
    return f"{named}#{parts.fragment}" if parts.fragment else named
