# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What an agent takes and gives: a DSPy signature, in the terms of a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import dspy
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from micro_agent.errors import ConfigurationError
from micro_agent.models.identity import WantedFinish
from micro_agent.run import Run
from micro_agent.run.images import Image, image_at, image_in, placed
from micro_agent.text.encoding import as_json
from micro_agent.tools.output_types import said_of, submit_tool, typed
from micro_agent.tools.outputs import Outputs

DEFAULT = "question -> answer: str"
IMAGES = "images"
"""The input that `AgentSignature.with_images` adds."""
_QUESTION = "question"
_NOT_TAKEN = (dspy.Audio, dspy.Tool, dspy.ToolCalls)
_HISTORY = "history"
_OPTIONS = frozenset({"limits", "on_event", "on_step", "cancel"})
"""What ``ask`` takes beside inputs."""


@dataclass(frozen=True)
class AgentSignature:
    """A signature that an agent works to. `of` makes one."""

    fields: type[dspy.Signature]

    @classmethod
    def of(cls, given: Any) -> "AgentSignature":
        """The signature that was given: a ``dspy.Signature``, its string, or ``None`` for `DEFAULT`.

        Raises:
            ConfigurationError: It is none, or has an input that an agent does not take.
        """
        try:
            found = _default() if given is None else cast("type[dspy.Signature]", dspy.ensure_signature(given))
        except (ValueError, TypeError, SyntaxError) as error:
            raise ConfigurationError(f"signature {given!r:.80} cannot be read: {error}") from error
        if not cls(found)._inputs or not found.output_fields:
            raise ConfigurationError("a signature has inputs and outputs, such as 'document, question -> answer: str'")
        for name, field in found.input_fields.items():
            if name in _OPTIONS:
                raise ConfigurationError(f"an input cannot be called {name!r}: ask(…) has an option of that name")
            if any(isinstance(kind, type) and issubclass(kind, _NOT_TAKEN) for kind in _kinds(field.annotation)):
                raise ConfigurationError(f"input {name!r} is of type {field.annotation}, which agents do not take")
        return cls(found)

    def with_images(self) -> "AgentSignature":
        """The same with an input ``images``, a list, unless there is one of that name."""
        if IMAGES in self.fields.input_fields:
            return self
        return AgentSignature(self.fields.append(IMAGES, dspy.InputField(), list[dspy.Image]))

    @property
    def task(self) -> str | None:
        """What the system prompt says of it: its instructions, and descriptions of inputs. ``None``: the default."""
        inputs = {name: said_of(name, field) for name, field in self.fields.input_fields.items()}
        told = [f"- {name}: {said}" for name, said in inputs.items() if said]
        if not told and self.fields.instructions in (_default().instructions, self._unsaid):
            return None
        return "\n".join([self.fields.instructions, *told])

    @property
    def is_typed(self) -> bool:
        """Whether its answer is more than one text."""
        return [field.annotation for field in self._outputs.values()] != [str]

    def outputs(self, finish: WantedFinish, taken: Iterable[str]) -> Outputs:
        """What an answer has to hold; ``taken`` are the names of tools.

        Raises:
            ConfigurationError: An output has no JSON form, or ``finish`` takes texts alone.
        """
        if self.is_typed and finish in ("ask", "text"):
            shown = ", ".join(self._outputs)
            raise ConfigurationError(f"finish={finish!r} is for one text; the outputs {shown} take 'call' or 'auto'")
        texts = [name for name, field in self._outputs.items() if field.annotation is str]
        text = "answer" if "answer" in texts else texts[0] if len(texts) == 1 else None
        return Outputs(text, submit_tool(self._outputs, taken) if self.is_typed or finish == "call" else None)

    def asked(self, question: str | None, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any], list[Image]]:
        """The message that stands for the inputs, the inputs as JSON, and the images in them.

        A text that is the only input beside images is the message. Of several each has its name before it.

        Args:
            question: The input ``question``, or the first one where there is none of that name.
            inputs: The others.

        Raises:
            TypeError: Inputs are missing, unknown or of another type.
        """
        names = list(self._inputs)
        first = _QUESTION if _QUESTION in names else names[0]
        given = {**({} if question is None else {first: question}), **inputs}
        given.pop(self.history or "", None)
        missing, unknown = [n for n in names if n not in given], [n for n in given if n not in names]
        if missing or unknown:
            faults = {"missing": missing, "unknown": unknown}
            told = [f"{what}: {', '.join(which)}" for what, which in faults.items() if which]
            raise TypeError(f"the inputs are {', '.join(names)}; {'; '.join(told)}")
        images: list[Image] = []
        values = {name: _plain(name, field, given[name], images) for name, field in self._inputs.items()}
        return self._message(values), values, images

    def turn(self, told: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The message and the outputs of an earlier turn, of which not all inputs need be known.

        Raises:
            TypeError: It has none of the inputs, or one of another type.
        """
        shown = {name: field for name, field in self._inputs.items() if not _is_image(field)}
        inputs = {name: _plain(name, field, told[name]) for name, field in shown.items() if name in told}
        if not inputs:
            raise TypeError(f"a turn of the history has no input ({', '.join(self._inputs)}), only {', '.join(told)}")
        outputs = {name: _plain(name, field, told[name]) for name, field in self._outputs.items() if name in told}
        return self._message(inputs), outputs

    def _message(self, values: Mapping[str, Any]) -> str:
        words = [name for name, field in self._inputs.items() if not _is_image(field)]
        only = values.get(words[0]) if len(words) == 1 else None
        if isinstance(only, str):
            return only
        return "\n\n".join(_block(name, value) for name, value in values.items())

    def values(self, run: Run) -> dict[str, Any]:
        """The outputs of a run as values of their types; of a run without any, texts are ``""`` and others ``None``."""
        if run.outputs is not None:
            return typed(self._outputs, run.outputs)
        if run.answer is not None and not self.is_typed:  # a record from before there were outputs
            return dict.fromkeys(self._outputs, run.answer)
        return {name: "" if field.annotation is str else None for name, field in self._outputs.items()}

    @property
    def _unsaid(self) -> str | None:
        """The instructions that DSPy makes up for a question about images, which say nothing."""
        words = [name for name, field in self._inputs.items() if not _is_image(field)]
        if words != [_QUESTION] or self.is_typed:
            return None
        given, wanted = ([f"`{name}`" for name in names] for names in (self.fields.input_fields, self._outputs))
        return f"Given the fields {', '.join(given)}, produce the fields {', '.join(wanted)}."

    @property
    def history(self) -> str | None:
        """The name of what tells the turns before a question: a ``dspy.History``, or ``history`` where it is free."""
        fields = self.fields.input_fields
        own = (name for name, field in fields.items() if dspy.History in _kinds(field.annotation))
        return next(own, None if _HISTORY in fields else _HISTORY)

    @property
    def _inputs(self) -> dict[str, FieldInfo]:
        """The inputs that the message has."""
        return {name: field for name, field in self.fields.input_fields.items() if name != self.history}

    @property
    def _outputs(self) -> dict[str, FieldInfo]:
        return dict(self.fields.output_fields)


@cache
def _default() -> type[dspy.Signature]:
    return cast("type[dspy.Signature]", dspy.ensure_signature(DEFAULT))


def _kinds(annotation: Any) -> list[Any]:
    return [annotation, *(inner for arg in get_args(annotation) for inner in _kinds(arg))]


def _is_image(field: FieldInfo) -> bool:
    return dspy.Image in _kinds(field.annotation)


def _as_images(value: Any) -> Any:
    """``value`` with the bytes and files in it as images: DSPy wants Pillow for bytes, and opens no files."""
    if isinstance(value, list | tuple):
        return [_as_images(one) for one in value]
    data = value.read_bytes() if isinstance(value, Path) else value
    if not isinstance(data, bytes):
        return value
    image = image_in(data)
    return dspy.Image(f"data:{image.media_type};base64,{image.data}")


def _plain(name: str, field: FieldInfo, value: Any, images: list[Image] | None = None) -> Any:
    """An input as JSON; its images are added to ``images``."""
    if field.annotation is str and isinstance(value, str):
        return value
    adapter = TypeAdapter[Any](field.rebuild_annotation())
    try:
        valid = adapter.validate_python(_as_images(value) if _is_image(field) else value)
        if images is not None and _is_image(field):
            return placed(valid, lambda image: image_at(image.url), images)
        return adapter.dump_python(valid, mode="json")
    except ValidationError as error:
        raise TypeError(f"input {name!r}: {error.errors(include_url=False)[0]['msg']}") from None
    except (ValueError, OSError) as error:
        raise TypeError(f"input {name!r}: {error}") from error


def _block(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else as_json(value)
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"
