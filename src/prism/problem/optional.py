"""Methods that a subclass may leave out: marked where they are declared, and asked for by name."""

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def optional(method: Method) -> Method:
    """Mark a method that stands for "not known": a subclass that knows defines it without the mark."""
    method.is_optional = True  # pyright: ignore[reportFunctionMemberAccess]
    return method


def provides(subject: object, name: str) -> bool:
    """Whether the class of an object defines the method beyond its optional declaration."""
    return not getattr(getattr(type(subject), name), "is_optional", False)
