"""``typing.TypedDict`` for pydantic, which before Python 3.12 takes only that of typing_extensions."""

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def rebuilt(hint: Any) -> Any:
    """``hint`` with each ``typing.TypedDict`` in it, at any depth, made again with typing_extensions."""
    if is_typeddict(hint):
        return _rebuilt_class(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (None, Literal):
        return hint
    inner = tuple(rebuilt(arg) for arg in args)
    if inner == args:
        return hint
    return (Union if origin is UnionType else origin)[inner]


def _rebuilt_class(old: Any) -> Any:
    from typing import NotRequired

    from typing_extensions import TypedDict

    hints = {key: rebuilt(kind) for key, kind in get_type_hints(old).items()}
    fields = {key: kind if key in old.__required_keys__ else NotRequired[kind] for key, kind in hints.items()}
    new: Any = TypedDict(old.__name__, fields)  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    new.__doc__ = old.__doc__
    return new
