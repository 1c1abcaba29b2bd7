"""What every event is: named fields with defaults, written as a JSON object and read back from one.

A subclass of `Event` lists its fields as a dataclass does, and the type checker treats it as a frozen one. At run time
it is not created by `dataclasses`: building an `__init__` for each of eighty classes took longer than all the rest of
the import, in the user's process as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Dict, TypeVar

from ...typing_names import dataclass_transform

if TYPE_CHECKING:
    from ...typing_names import Self

Json = Dict[str, Any]
_Value = TypeVar("_Value")


class _Factory:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], _Value]) -> _Value:
    """A default that is created for each event: a list, a dictionary."""
    return _Factory(default_factory)  # type: ignore[return-value]


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
class Event:
    """The root of all events. Fields are plain JSON values, given by name."""

    kind: ClassVar[str]
    fields: ClassVar[Mapping[str, str]]  # name and type, as written, in the order of the class
    _factories: ClassVar[Mapping[str, Callable[[], Any]]]

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        own = cls.__annotations__
        cls.fields = {} if own is Event.__annotations__ else own  # before Python 3.10 those of the base
        # A field without a default is an error here.
        defaults = {name: cls.__dict__[name] for name in cls.fields}
        cls._factories = {name: value.make for name, value in defaults.items() if isinstance(value, _Factory)}

    def __init__(self, **values: Any) -> None:
        if not self.fields.keys() >= values.keys():
            unknown = ", ".join(sorted(values.keys() - self.fields.keys()))
            raise TypeError(f"{type(self).__name__} has no field {unknown}")
        for name, make in self._factories.items():
            if name not in values:
                values[name] = make()
        self.__dict__.update(values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and payload(self) == payload(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in payload(self).items())})"

    def changed(self, **values: Any) -> Self:
        """A copy with other values in some fields."""
        return type(self)(**{**payload(self), **values})


def payload(event: Event) -> Json:
    """The event's own fields, as JSON values."""
    return {name: getattr(event, name) for name in event.fields}
