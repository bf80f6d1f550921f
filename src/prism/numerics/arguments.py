"""Arguments of the wrong kind, refused where they are given and not where they are first used."""

import inspect
import math
import numbers
from typing import Any

from prism.errors import InputError
from prism.numerics.texts import shortened


def is_real(value: object) -> bool:
    """Whether it is one real number: of Python, of NumPy, or an array without axes."""
    if isinstance(value, numbers.Real):
        return not isinstance(value, bool)
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return kind in ("f", "i", "u") and getattr(value, "shape", None) == ()


def real(name: str, value: Any) -> float:
    """The number as a float; what is none, or is too long for one, is refused by this name."""
    if not is_real(value):
        raise InputError(f"{name} is {shown(value)}; give a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} is larger than any floating-point number; give a smaller one") from None


def check_whole(name: str, value: Any, lowest: int, highest: int | None = None) -> None:
    """Refuse what is no whole number in this range."""
    between = f"of {lowest} or more" if highest is None else f"from {lowest} to {highest}"
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or int(value) < lowest or (highest is not None and int(value) > highest):
        raise InputError(f"{name} is {shown(value)}; give a whole number {between}")


def check_positive(name: str, value: object) -> None:
    """Refuse what is no positive finite number."""
    if not 0.0 < real(name, value) < math.inf:
        raise InputError(f"{name} is {real(name, value):g}; give a positive finite number")


def check_kind(name: str, value: object, kind: Any, example: str) -> None:
    """Refuse what is not of this kind, a class or a union of some; the message ends with an example of it."""
    if not isinstance(value, kind):
        told = f"the class {value.__name__}" if isinstance(value, type) else shown(value)
        raise InputError(f"{name} is {told}; give {example}")


def check_function(name: str, value: Any, arguments: tuple[str, ...], form: str | None = None) -> None:
    """Refuse what cannot be called with these arguments; `form` is how to write it, a lambda unless given."""
    form = f"lambda {', '.join(arguments)}: ..." if form is None else form
    if not callable(value):
        raise InputError(f"{name} is {shown(value)}; give a function, {form}")
    try:
        signature = inspect.signature(value)
    except ValueError:  # of a function that is not written in Python
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise InputError(f"{name} takes ({', '.join(signature.parameters)}); write {form}") from None


def shown(value: object) -> str:
    """A value in one short line of a message."""
    return shortened(repr(value), 60)
