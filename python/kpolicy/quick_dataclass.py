"""`dataclass` for the modules that short commands load: the same, and made sooner.

The standard one compiles each method of a class by itself, and looks up its signature for a
docstring, which is much of the time of `kpolicy lint`. Here of a class with slots only `__init__`
is compiled. Every other class is left to the standard one. Python 3.13 compiles all methods of a
class at once itself: this module goes with the last older one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, slots=False, **others):
        if slots and others.keys() <= {"frozen", "kw_only"}:
            return lambda cls: _made(cls, **others)
        return dataclasses.dataclass(slots=slots, **others)


__all__ = ["dataclass"]

_NOT_GIVEN: Final = object()
_Equal: TypeAlias = Callable[[Any, object], Any]
_Hash: TypeAlias = Callable[[Any], int]


def _made(cls: type, *, frozen: bool = False, kw_only: bool = False) -> type:
    # Without one, the signature would be looked up.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: type = dataclasses.dataclass(
        init=False, repr=False, eq=False, slots=True, kw_only=kw_only
    )(cls)
    fields = dataclasses.fields(made)
    names: dict[str, Any] = {"_not_given": _NOT_GIVEN}
    if frozen:
        names["_set"] = object.__setattr__
    code = _init(fields, names)
    if hasattr(made, "__post_init__"):
        code += " self.__post_init__()\n"
    # The names are those of fields: a class cannot be written with any that is not an identifier.
    exec(code, names)  # noqa: S102
    names["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    equal, hashed = _comparison(fields)
    methods = {"__init__": names["__init__"], "__repr__": _repr, "__eq__": equal, "__hash__": None}
    if frozen:
        methods |= _OF_FROZEN | {"__hash__": hashed}
    own = made.__dict__
    for name, method in methods.items():
        # Python itself writes None for __hash__ beside an __eq__.
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(made, name, method)
    return made


def _init(fields: tuple[dataclasses.Field[Any], ...], names: dict[str, Any]) -> str:
    """The text of `__init__`; what it reads is added to `names`."""
    parameters = ["self"]
    by_name: list[str] = []
    body: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        parameter = name
        if field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_not_given"
            value = f"_make_{name}() if {name} is _not_given else {name}"
        (by_name if field.kw_only else parameters).append(parameter)
        assigned = f"_set(self, {name!r}, {value})" if "_set" in names else f"self.{name} = {value}"
        body.append(f" {assigned}\n")
    listed = ", ".join([*parameters, "*", *by_name] if by_name else parameters)
    return f"def __init__({listed}):\n{''.join(body) or ' pass'}\n"


def _comparison(fields: tuple[dataclasses.Field[Any], ...]) -> tuple[_Equal, _Hash]:
    """`__eq__` and `__hash__`."""
    compared = [field.name for field in fields if field.compare]
    values: Callable[[Any], object]
    if len(compared) > 1:
        values = attrgetter(*compared)
    else:

        def values(self: Any) -> object:
            return tuple(getattr(self, name) for name in compared)

    def equal(self: Any, other: object) -> Any:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return equal, lambda self: hash(values(self))


def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _assign(_self: Any, name: str, _value: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(_self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """For `copy` and `pickle`, which would assign to the fields."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_OF_FROZEN: Final[dict[str, Any]] = {
    "__setattr__": _assign,
    "__delattr__": _delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
