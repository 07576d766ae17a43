"""`dataclass` for the modules that short commands load: the same, and made sooner.

The standard one compiles each method of a class by itself, and looks up its signature for a
docstring, which is much of the time of `kpolicy lint`. Here classes with slots share the compiled
`__init__` of their shape: how many fields they have, and which of these have a default that is
made. Every other class is left to the standard one. Python 3.13 compiles all methods of a class at
once itself: this module goes with the last older one.
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

    def dataclass(cls=None, *, slots=False, **others):
        if cls is None and slots and others.keys() <= {"frozen", "kw_only"}:
            return lambda cls: _made(cls, **others)
        return _standard(cls, slots=slots, **others)


__all__ = ["dataclass"]

_standard: Final = dataclasses.dataclass
_NOT_GIVEN: Final = object()
_Equal: TypeAlias = Callable[[Any, object], Any]
_Hash: TypeAlias = Callable[[Any], int]


def _made(cls: type, *, frozen: bool = False, kw_only: bool = False) -> type:
    # Without one, the signature would be looked up.
    cls.__doc__ = cls.__doc__ or cls.__name__
    fields = dataclasses.fields(_standard(init=False, repr=False, eq=False, kw_only=kw_only)(cls))
    init = _init(cls, fields, is_frozen=frozen)
    equal, hashed = _comparison(fields)
    methods = {"__init__": init, "__repr__": _repr, "__eq__": equal, "__hash__": None}
    if frozen:
        methods |= _OF_FROZEN | {"__hash__": hashed}
    # A class with slots must be made anew. Its methods are set in the same step: each that is set
    # on a class costs Python a look at all special methods.
    names = {field.name for field in fields}
    own = {n: v for n, v in cls.__dict__.items() if n not in names and n not in _OF_INSTANCES}
    # Python itself writes None for __hash__ beside an __eq__.
    if own.get("__hash__", own) is None:
        del own["__hash__"]
    inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    slots = tuple(field.name for field in fields if field.name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, {**methods, **own, "__slots__": slots})
    made.__qualname__ = cls.__qualname__
    return made


def _init(cls: type, fields: tuple[dataclasses.Field[Any], ...], *, is_frozen: bool) -> Any:
    """`__init__` of a class: the code of its shape, with the names and defaults of its fields."""
    fields = (*(f for f in fields if not f.kw_only), *(f for f in fields if f.kw_only))
    are_made = tuple(field.default_factory is not dataclasses.MISSING for field in fields)
    code = _code(are_made, is_frozen=is_frozen, has_more=hasattr(cls, "__post_init__"))
    names = {f"field_{number}": field.name for number, field in enumerate(fields)}
    values: dict[str, Any] = {"_set": object.__setattr__, "_not_given": _NOT_GIVEN}
    defaults: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    for number, field in enumerate(fields):
        if are_made[number]:
            values[f"make_{number}"] = field.default_factory
            defaults[field.kw_only is True][field.name] = _NOT_GIVEN
        elif field.default is not dataclasses.MISSING:
            defaults[field.kw_only is True][field.name] = field.default
    by_name = sum(field.kw_only is True for field in fields)
    named = code.replace(
        co_argcount=code.co_argcount - by_name,
        co_kwonlyargcount=by_name,
        co_consts=tuple(names.get(value, value) for value in code.co_consts),
        co_names=tuple(names.get(name, name) for name in code.co_names),
        co_varnames=tuple(names.get(name, name) for name in code.co_varnames),
        co_qualname=f"{cls.__qualname__}.__init__",
    )
    init = FunctionType(named, values, argdefs=tuple(defaults[False].values()))
    init.__kwdefaults__ = defaults[True]
    return init


@cache
def _code(are_made: tuple[bool, ...], *, is_frozen: bool, has_more: bool) -> CodeType:
    """Compiled once for all classes whose fields are alike but for their names and defaults.
    `are_made`: the fields whose default is made by a function."""
    body = []
    for number, is_made in enumerate(are_made):
        name = f"field_{number}"
        value = f"make_{number}() if {name} is _not_given else {name}" if is_made else name
        body.append(f"_set(self, '{name}', {value})" if is_frozen else f"self.{name} = {value}")
    if has_more:
        body.append("self.__post_init__()")
    parameters = ", ".join(("self", *(f"field_{number}" for number in range(len(are_made)))))
    text = f"def __init__({parameters}):\n {'; '.join(body) or 'pass'}\n"
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


_OF_INSTANCES: Final = frozenset({"__dict__", "__weakref__"})
_OF_FROZEN: Final[dict[str, Any]] = {
    "__setattr__": _assign,
    "__delattr__": _delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
