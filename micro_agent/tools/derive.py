"""`@tool`: a Tool made from a typed function and its docstring.

pydantic describes the types and converts the arguments to them; it is imported when the first tool is derived.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast, get_type_hints, overload

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools.docstring import read_docstring
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Confirmation, Handler, Preview, Rejected, Tool
from micro_agent.tools.typed_dicts import rebuilt

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    Adapters = dict[str, TypeAdapter[Any]]

_DATA = ("default", "enum", "const", "examples")
_MAPS = ("properties", "$defs")


@overload
def tool(function: Handler, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    requires_confirmation: Confirmation = False,
    preview: Preview | None = None,
    rejected: Rejected | None = None,
    timeout_s: float | None = 30.0,
    max_chars: int = 8000,
) -> Callable[[Handler], Tool]: ...
def tool(
    function: Handler | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Any,
) -> Tool | Callable[[Handler], Tool]:
    """Make a Tool of a typed function, as ``@tool`` or ``@tool(name=…, read_only=True, …)``.

    The name is the function's, the description and those of the arguments come from its Google-style docstring, the
    schema from its types (``additionalProperties`` is false). The tool can still be called like the function; when an
    agent calls it, arguments are converted to the types first (pydantic models, dataclasses, dates, enums, …).

    Args:
        function: The function, sync or async.
        name: Another name for the tool.
        description: Another description.
        **options: ``read_only``, ``destructive``, ``requires_confirmation``, ``preview``, ``rejected``, ``timeout_s``,
            ``max_chars`` as in `Tool`.

    Raises:
        ToolDefinitionError: An argument has no type, or one without a JSON form; or it is ``*args`` or ``**kwargs``.
    """

    def make(function: Handler) -> Tool:
        return _derive(function, name, description, options)

    return make if function is None else make(function)


def _derive(function: Handler, name: str | None, description: str | None, options: dict[str, Any]) -> Tool:
    name = function.__name__ if name is None else name
    told, texts = read_docstring(function.__doc__)
    signature = inspect.signature(function)
    adapters = _adapters(name, signature, _hints(name, function))
    return Tool(
        name,
        told if description is None else description,
        parameters_of(name, adapters, texts, _defaults(signature)),
        _converting(function, adapters),
        function=function,
        **options,
    )


def _defaults(signature: inspect.Signature) -> dict[str, Any]:
    given = {key: parameter.default for key, parameter in signature.parameters.items()}
    return {key: value for key, value in given.items() if value is not inspect.Parameter.empty}


def _hints(name: str, function: Handler) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        message = f"tool {name!r}: its types cannot be read ({error}); define them at the top level of the module"
        raise ToolDefinitionError(message) from None


def _adapters(name: str, signature: inspect.Signature, hints: dict[str, Any]) -> "Adapters":
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    adapters: Adapters = {}
    for key, parameter in signature.parameters.items():
        _check_parameter(name, parameter, hints)
        try:
            adapters[key] = TypeAdapter(rebuilt(hints[key]))
        except PydanticUserError:
            raise _no_json(name, key, hints[key]) from None
    return adapters


def _check_parameter(name: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
    key = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = str(parameter).partition(key)[0]
        raise ToolDefinitionError(f"tool {name!r}: {stars}{key} cannot be described to a model; name each argument")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ToolDefinitionError(f"tool {name!r}: {key!r} is positional-only; take the / out of its signature")
    if key not in hints:
        raise ToolDefinitionError(f"tool {name!r}: argument {key!r} has no type; write for example {key}: str")


def _no_json(name: str, key: str, kind: object) -> ToolDefinitionError:
    shown = getattr(kind, "__name__", kind)
    message = f"tool {name!r}: argument {key!r} has the type {shown}, which has no JSON form"
    return ToolDefinitionError(f"{message}; use str, int, list, dict, a dataclass, a pydantic model, …")


def parameters_of(
    name: str, adapters: "Mapping[str, TypeAdapter[Any]]", texts: Mapping[str, str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """JSON Schema of an object with a member per adapter.

    Args:
        name: Whose it is, for an error.
        adapters: The types, by the names of the members.
        texts: Descriptions of members.
        defaults: The values of those that need not be given.

    Raises:
        ToolDefinitionError: A type has no JSON form.
    """
    parts, definitions = _describe(name, adapters)
    for key, part in parts.items():
        if key in texts:
            part.setdefault("description", texts[key])
        if defaults.get(key) is not None:
            part |= _json_default(adapters[key], defaults[key])
    required = [key for key in parts if key not in defaults]
    found: dict[str, Any] = {"type": "object", "properties": parts, "additionalProperties": False}
    return found | ({"required": required} if required else {}) | ({"$defs": definitions} if definitions else {})


def _describe(
    name: str, adapters: "Mapping[str, TypeAdapter[Any]]"
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schema of each argument, and the definitions that they share."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    for key, adapter in adapters.items():
        try:
            adapter.json_schema()
        except PydanticUserError:
            raise _no_json(name, key, adapter._type) from None  # pyright: ignore[reportPrivateUsage]
    found, common = TypeAdapter.json_schemas([(key, "validation", adapter) for key, adapter in adapters.items()])
    parts = {key: _untitled(found[key, "validation"]) for key in adapters}
    return parts, {key: _untitled(part) for key, part in common.get("$defs", {}).items()}


def _untitled(part: Any) -> Any:
    """The schema without the titles that pydantic makes of the names: words that cost a small model attention."""
    if isinstance(part, list):
        return [_untitled(item) for item in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", part).items():
        if key in _MAPS:
            found[key] = {name: _untitled(item) for name, item in value.items()}
        elif key != "title":
            found[key] = value if key in _DATA else _untitled(value)
    return found


def _json_default(adapter: "TypeAdapter[Any]", default: object) -> dict[str, Any]:
    """``{"default": …}``, or nothing where the default has no JSON form (a marker object, say)."""
    from pydantic_core import PydanticSerializationError

    try:
        return {"default": adapter.dump_python(default, mode="json", warnings="error")}
    except PydanticSerializationError:
        return {}


def _converting(function: Handler, adapters: "Adapters") -> Handler:
    """A handler that converts the arguments to the function's types, then calls it."""

    def call(**args: Any) -> Any:
        return function(**_converted(args, adapters))

    async def acall(**args: Any) -> Any:
        return await function(**_converted(args, adapters))

    return acall if inspect.iscoroutinefunction(function) else call


def _converted(args: dict[str, Any], adapters: "Adapters") -> dict[str, Any]:
    from pydantic import ValidationError

    found: dict[str, Any] = {}
    for key, value in args.items():
        try:
            found[key] = adapters[key].validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "".join(f".{part}" for part in first["loc"])
            raise ToolError("VALIDATION_FAILED", f"argument '{key}{where}': {first['msg']}") from None
    return found
