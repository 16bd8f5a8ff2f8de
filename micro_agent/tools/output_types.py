"""The outputs of a signature as the arguments of a tool, and as values of their types.

pydantic describes the types and reads the values; it is imported when the first tool is made of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from json import dumps
from typing import TYPE_CHECKING, Any, cast

from micro_agent.errors import ConfigurationError, ToolDefinitionError
from micro_agent.tools.arguments import Accepted, Fault, Faults
from micro_agent.tools.derive import parameters_of
from micro_agent.tools.faults import path_text
from micro_agent.tools.tool import Handler, Tool
from micro_agent.tools.typed_dicts import rebuilt

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo

_NAME = "submit"
_DESCRIPTION = "Give the final answer. Call it alone, once you have all the values."


def submit_tool(fields: Mapping[str, "FieldInfo"], taken: Iterable[str]) -> Tool:
    """The tool whose arguments are the outputs.

    Its handler, which `check_outputs` calls, gives `Accepted` outputs as JSON with defaults filled in, or `Faults`.

    Args:
        fields: The outputs by name. What a ``desc`` in their ``json_schema_extra`` says describes them.
        taken: Names that other tools have.

    Raises:
        ConfigurationError: An output has a type without a JSON form.
    """
    adapters = {name: _adapter(field) for name, field in fields.items()}
    try:
        parameters = parameters_of(
            _NAME, adapters, {name: said for name, field in fields.items() if (said := said_of(name, field))},
            {name: field.get_default(call_default_factory=True) for name, field in fields.items()
             if not field.is_required()},
        )  # fmt: skip
        return Tool(_free(taken), _DESCRIPTION, parameters, _giving(fields, adapters), timeout_s=None)
    except ToolDefinitionError as error:
        raise ConfigurationError(f"the outputs of the signature cannot be described: {error}") from None


def typed(fields: Mapping[str, "FieldInfo"], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of a run, which are JSON, as values of their types."""
    return {name: _adapter(field).validate_json(dumps(outputs[name])) for name, field in fields.items()}


def _giving(fields: Mapping[str, "FieldInfo"], adapters: "Mapping[str, TypeAdapter[Any]]") -> Handler:
    def give(**given: Any) -> Accepted | Faults:
        found, done = dict[str, Any](), list[dict[str, Any]]()
        faults: dict[str, Fault] = {}
        for name, field in fields.items():
            adapter = adapters[name]
            if name not in given:
                if not field.is_required():
                    default = field.get_default(call_default_factory=True)
                    found[name] = adapter.dump_python(default, mode="json", by_alias=True)
                continue
            value, wrong = _read(adapter, given[name])
            if wrong and all(_is_null_text(one["input"]) for one in wrong):
                value, wrong, nulls = *_read(adapter, _nulled(given[name], wrong)), wrong
                done += [_coercion(name, given[name], one) for one in nulls if not wrong]
            for one in wrong:
                path = path_text([name, *_places(given[name], one["loc"], missing=one["type"] == "missing")])
                faults.setdefault(path, Fault(path, f"argument '{path}': {one['msg']}"))
            found[name] = value
        return Faults(list(faults.values())) if faults else Accepted(found, done)

    return give


def _read(adapter: "TypeAdapter[Any]", value: Any) -> tuple[Any, list[Any]]:
    """The value as its type writes it, and what pydantic finds wrong."""
    from pydantic import ValidationError

    try:
        return adapter.dump_python(adapter.validate_json(dumps(value)), mode="json", by_alias=True), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _is_null_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in ("null", "none")


def _nulled(value: Any, wrong: list[Any]) -> Any:
    """A copy with null in the places that are wrong: the word for it, in a text, where no text is allowed."""
    places = [list(_places(value, one["loc"], missing=False)) for one in wrong]
    if [] in places:
        return None
    copied = deepcopy(value)
    for *way, last in places:
        inner = copied
        for part in way:
            inner = inner[part]
        inner[last] = None
    return copied


def _coercion(name: str, value: Any, wrong: Any) -> dict[str, Any]:
    path = path_text([name, *_places(value, wrong["loc"], missing=False)])
    return {"path": path, "from": wrong["input"], "to": None, "kind": "null_string"}


def _places(value: Any, location: Iterable[str | int], *, missing: bool) -> Iterator[str | int]:
    """The keys and places of a location of pydantic's, which names the branches of unions as well."""
    parts = list(location)
    for number, part in enumerate(parts):
        if isinstance(value, dict) and part in value:
            value = cast("dict[Any, Any]", value)[part]
        elif isinstance(value, list) and isinstance(part, int):
            value = cast("list[Any]", value)[part] if part < len(cast("list[Any]", value)) else None
        elif not (missing and number == len(parts) - 1):
            continue
        yield part


def _adapter(field: "FieldInfo") -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    kind: Any = field.rebuild_annotation()
    return TypeAdapter(rebuilt(kind))


def said_of(name: str, field: "FieldInfo") -> str:
    """What describes an output: DSPy writes ``${name}`` where nobody said anything."""
    extra: Any = field.json_schema_extra
    said = extra.get("desc") if isinstance(extra, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return said if isinstance(said, str) and said != f"${{{name}}}" else ""


def _free(taken: Iterable[str]) -> str:
    names, number, name = set(taken), 1, _NAME
    while name in names:
        number += 1
        name = f"{_NAME}_{number}"
    return name
