"""What JAX traced of a function: the programs inside, the arrays they close over, the code they hide, a hash."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
SOURCE_LINE = re.compile(r".* at (?P<file>.+):\d+")
"""Where JAX says that a function is from."""
VERSIONED = tuple(f"{place}{os.sep}" for place in (Path(jax.__file__).parent, Path(__file__).parents[1]))
"""Where code lies that changes with the versions of JAX and PRISM alone."""


def programs_in(traced: ClosedJaxpr) -> Iterator[ClosedJaxpr]:
    """The trace, and all that its equations call."""
    yield traced
    for equation in traced.jaxpr.eqns:
        for program in called_by(equation):
            yield from programs_in(program)


def called_by(equation: JaxprEqn) -> list[ClosedJaxpr]:
    """The programs that an equation of a trace calls."""
    is_program = lambda leaf: isinstance(leaf, ClosedJaxpr | Jaxpr)
    found = [leaf for leaf in jax.tree.leaves(equation.params, is_leaf=is_program) if is_program(leaf)]
    # That of `jax.checkpoint` is not closed, and closes over nothing.
    return [leaf if isinstance(leaf, ClosedJaxpr) else ClosedJaxpr(leaf, []) for leaf in found]


def constants_of(traced: ClosedJaxpr) -> Iterator[Any]:
    """Arrays that the trace closes over, those of functions compiled inside it too."""
    for program in programs_in(traced):
        yield from program.consts


def digest_of_trace(traced: ClosedJaxpr) -> Any:
    """A SHA-256 under way, the same for two traces of one function: of their equations and of the arrays that they
    close over."""
    text = traced.jaxpr.pretty_print(use_color=False)  # str(jaxpr) has colours on a terminal
    digest = hashlib.sha256(without_addresses(text).encode())
    for constant in constants_of(traced):
        is_key = jnp.issubdtype(constant.dtype, jax.dtypes.prng_key)
        digest.update(np.asarray(jax.random.key_data(constant) if is_key else constant).tobytes())
    return digest


def trace_hash(traced: ClosedJaxpr) -> str:
    """That digest as text."""
    return digest_of_trace(traced).hexdigest()


def without_addresses(text: str) -> str:
    """A description without the places in memory that Python writes into it."""
    return ADDRESS.sub("", text)


def has_own_rule(equation: JaxprEqn) -> bool:
    """Whether it calls a function with a rule of its own for derivatives or batches."""
    return equation.primitive.name.startswith("custom_")


def calls_python(equation: JaxprEqn) -> bool:
    """Whether it calls Python while the program runs, for a value or, as `jax.debug.print` does, to tell one."""
    return "callback" in equation.primitive.name or equation.primitive.name.startswith("debug_")


def hides_code(traced: ClosedJaxpr) -> bool:
    """Whether a trace calls Python, or a function with a rule of its own that no version of JAX or PRISM stands for:
    code that the trace does not show."""
    equations = (equation for program in programs_in(traced) for equation in program.jaxpr.eqns)
    return any(calls_python(one) or (has_own_rule(one) and not _is_versioned(one)) for one in equations)


def _is_versioned(equation: JaxprEqn) -> bool:
    """Whether the function that it calls and its rules are of one file of JAX or PRISM."""
    functions = [program.jaxpr for program in called_by(equation)]
    rules = [value for value in equation.params.values() if hasattr(value, "debug_info")]
    lines = [SOURCE_LINE.fullmatch(one.debug_info.func_src_info or "") for one in (*functions, *rules)]
    files = {"" if line is None else line["file"] for line in lines}
    return len(files) == 1 and next(iter(files)).startswith(VERSIONED)
