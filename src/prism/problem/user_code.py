"""Functions of the user's own, called while a family is checked: what they raise becomes one line with the fix."""

import contextlib
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from prism.errors import InputError

LIBRARIES = (
    str(Path(__file__).parent.parent),
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")},
)
"""Where code lies that is not the user's."""
LATER = "a value that is only known later"


@contextlib.contextmanager
def calling(what: str) -> Iterator[None]:
    """Turn what the code inside raises into an InputError about `what`, with the line of the user's file."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        files = ((frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__))
        raise InputError(f"{what} {_explained(error, user_line(files))}") from error


def user_line(frames: Iterable[tuple[str, int | None]]) -> str:
    """The last of these lines that is neither PRISM's nor a library's, such as " in line 12 of my.py"; else nothing."""
    own = [(file, line) for file, line in frames if not file.startswith((*LIBRARIES, "<"))]
    return f" in line {own[-1][1]} of {Path(own[-1][0]).name}" if own else ""


def _explained(error: BaseException, where: str) -> str:
    """What went wrong and, for what JAX raises on a traced value, how to write it."""
    match error:
        case jax.errors.TracerBoolConversionError():
            return (
                f"branches in Python on {LATER}{where}; write jnp.where(condition, a, b) for `if`, jnp.logical_and "
                "for `and`, jax.lax.fori_loop for a loop"
            )
        case jax.errors.TracerArrayConversionError():
            return f"calls NumPy on {LATER}{where}; write jnp for np, such as jnp.sin(x)"
        case jax.errors.NonConcreteBooleanIndexError():
            return f"picks entries by a condition that is only known later{where}; write jnp.where(x > 0, x, 0.0)"
        case jax.errors.UnexpectedTracerError():
            return (
                f"uses a value that an earlier call kept{where}, in a global or an attribute; use the arguments alone"
            )
        case jax.errors.TracerIntegerConversionError():
            return _whole_number(where)
        case jax.errors.ConcretizationTypeError():
            if "`int` function" in str(error):
                return _whole_number(where)
            return f"makes a Python number of {LATER}{where}, as math.sin and float() do; write jnp.sin(x)"
        case _:
            reason = "".join(str(error).splitlines()[:1])
            if reason.startswith("Only integer scalar arrays"):
                return _whole_number(where)
            return f"raised {type(error).__name__}{where}{reason and ': '}{reason}"


def _whole_number(where: str) -> str:
    return (
        f"takes {LATER} for a whole number{where}, as range(), int() and the index of a list do; write "
        "jax.lax.fori_loop for a loop, jnp.asarray(values)[i] for an index"
    )


def real_number(what: str, value: Any, whole: bool = False) -> Array:
    """The value as an array, if it is one real number; `whole` numbers such as 0 only where that is said."""
    if value is None:
        raise InputError(f"{what} returns nothing; end it with return")
    array = jnp.asarray(value)
    if array.shape != ():
        raise InputError(f"{what} has shape {array.shape} at one point; it must be one number (sum over coordinates?)")
    if not jnp.issubdtype(array.dtype, jnp.floating) and not (whole and jnp.issubdtype(array.dtype, jnp.integer)):
        raise InputError(
            f"{what} is of the type {array.dtype}; it must be a real number: jnp.real(z) for a complex one, 1.0 * z "
            "for a whole one, jnp.where(condition, a, b) for a condition"
        )
    return array
