"""`dataclass` for the modules that short commands load: the same, and made sooner.

The standard one compiles each method of a class by itself, and looks up its signature for a
docstring, which is much of the time of `kpolicy lint`. Here classes with slots share the compiled
`__init__` of their shape: how many fields they have, and which of these have defaults. Every other
class is left to the standard one. Python 3.13 compiles all methods of a class at once itself: this
module goes with the last older one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
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
    init = _init(made, fields, is_frozen=frozen)
    equal, hashed = _comparison(fields)
    methods = {"__init__": init, "__repr__": _repr, "__eq__": equal, "__hash__": None}
    if frozen:
        methods |= _OF_FROZEN | {"__hash__": hashed}
    own = made.__dict__
    for name, method in methods.items():
        # Python itself writes None for __hash__ beside an __eq__.
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(made, name, method)
    return made


def _init(made: type, fields: tuple[dataclasses.Field[Any], ...], *, is_frozen: bool) -> Any:
    """`__init__` of a class: the code of its shape, with the names and defaults of its fields."""
    fields = (*(f for f in fields if not f.kw_only), *(f for f in fields if f.kw_only))
    shape = tuple((field.kw_only, _default_kind(field)) for field in fields)
    code = _code(shape, is_frozen=is_frozen, has_more=hasattr(made, "__post_init__"))
    names = {f"field_{number}": field.name for number, field in enumerate(fields)}
    values: dict[str, Any] = {"_set": object.__setattr__, "_not_given": _NOT_GIVEN}
    defaults: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    for number, field in enumerate(fields):
        if field.default_factory is not dataclasses.MISSING:
            values[f"make_{number}"] = field.default_factory
            defaults[field.kw_only is True][field.name] = _NOT_GIVEN
        elif field.default is not dataclasses.MISSING:
            defaults[field.kw_only is True][field.name] = field.default
    named = code.replace(
        co_consts=tuple(names.get(value, value) for value in code.co_consts),
        co_names=tuple(names.get(name, name) for name in code.co_names),
        co_varnames=tuple(names.get(name, name) for name in code.co_varnames),
        co_qualname=f"{made.__qualname__}.__init__",
    )
    init = FunctionType(named, values, argdefs=tuple(defaults[False].values()))
    init.__kwdefaults__ = defaults[True]
    return init


def _default_kind(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return "made"
    return "none" if field.default is dataclasses.MISSING else "value"


@cache
def _code(shape: tuple[tuple[bool, str], ...], *, is_frozen: bool, has_more: bool) -> CodeType:
    """Compiled once for all classes whose fields are alike but for their names."""
    parameters, body, by_name = ["self"], [], False
    for number, (kw_only, default) in enumerate(shape):
        name = f"field_{number}"
        if kw_only and not by_name:
            parameters.append("*")
            by_name = True
        parameters.append(name if default == "none" else f"{name}=None")
        value = name
        if default == "made":
            value = f"make_{number}() if {name} is _not_given else {name}"
        body.append(f"_set(self, '{name}', {value})" if is_frozen else f"self.{name} = {value}")
    if has_more:
        body.append("self.__post_init__()")
    text = f"def __init__({', '.join(parameters)}):\n {'; '.join(body) or 'pass'}\n"
    made: dict[str, Any] = {}
    exec(text, made)  # noqa: S102  written above
    code: CodeType = made["__init__"].__code__
    return code


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
