"""An index beyond the end of an array, for which JAX silently takes the last entry, found in what it traces.

Nothing is run by JAX: indices that are known when a function is traced are followed through its equations.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal
from jax.lax import GatherScatterMode

from prism.problem.traced_programs import called_by

Known = Any
"""The value of a variable as an array of NumPy; None where it is not known."""


def _broadcast(value: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    sides = dict(zip(broadcast_dimensions, value.shape, strict=True))
    return np.broadcast_to(value.reshape([sides.get(axis, 1) for axis in range(len(shape))]), shape)


def _count(dtype: Any, shape: Any, dimension: Any, **_: Any) -> Any:
    along = np.arange(shape[dimension], dtype=dtype)
    return _broadcast(along, shape, (dimension,))


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "lt": lambda a, b, **_: a < b,
    "add": lambda a, b, **_: a + b,
    "sub": lambda a, b, **_: a - b,
    "mul": lambda a, b, **_: a * b,
    "select_n": lambda which, *cases, **_: np.choose(which.astype(int), cases),
    "convert_element_type": lambda a, new_dtype, **_: a.astype(new_dtype),
    "reshape": lambda a, new_sizes, **_: a.reshape(new_sizes),
    "broadcast_in_dim": _broadcast,
    "iota": _count,
}
"""What JAX makes of an index before it is used, by the name of the primitive."""
CALLS = ("jit", "custom_jvp_call", "custom_vjp_call", "remat2")
"""Primitives that call a program with their own inputs; loops and branches call theirs with others."""


@dataclass(frozen=True)
class Beyond:
    """An index, the number of entries there are, and the files and lines from which it is taken."""

    index: int
    size: int
    lines: list[tuple[str, int]]


def indices_beyond(traced: ClosedJaxpr) -> list[Beyond]:
    """The indices in a trace that lie outside of what they index."""
    found: list[Beyond] = []
    _follow(traced, [None] * len(traced.jaxpr.invars), found)
    return found


def _follow(traced: ClosedJaxpr, given: Sequence[Known], found: list[Beyond]) -> list[Known]:
    """The outputs that are known for these inputs; what lies outside is added to `found`."""
    jaxpr = traced.jaxpr
    values: dict[Any, Known] = dict(zip(jaxpr.invars, given, strict=True))
    values |= {
        variable: np.asarray(constant)
        for variable, constant in zip(jaxpr.constvars, traced.consts, strict=True)
        if _counts(_abstract(variable).dtype)
    }
    read = lambda atom: np.asarray(atom.val) if isinstance(atom, Literal) else values.get(atom)
    for equation in jaxpr.eqns:
        inputs = [read(atom) for atom in equation.invars]
        found += [Beyond(*one, _lines(equation)) for one in _outside(equation, inputs)]
        values |= dict(zip(equation.outvars, _outputs(equation, inputs, found), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _outputs(equation: JaxprEqn, inputs: Sequence[Known], found: list[Beyond]) -> Sequence[Known]:
    """What is known of the outputs of an equation: whole numbers and truth values that follow from known ones."""
    unknown = [None] * len(equation.outvars)
    for program in called_by(equation):
        is_call = equation.primitive.name in CALLS and len(program.jaxpr.invars) == len(inputs)
        outputs = _follow(program, inputs if is_call else [None] * len(program.jaxpr.invars), found)
        if is_call:
            return outputs
    evaluate = ARITHMETIC.get(equation.primitive.name)
    if evaluate is None or any(value is None for value in inputs) or not _counts(_abstract(equation.outvars[0]).dtype):
        return unknown
    try:
        return [np.asarray(evaluate(*inputs, **equation.params))]
    except (ValueError, TypeError):  # in a form that is not followed
        return unknown


def _abstract(atom: Any) -> Any:
    """Shape and type of a variable."""
    return atom.aval


def _counts(dtype: Any) -> bool:
    """Whether an index may come of it."""
    return dtype == np.bool_ or jnp.issubdtype(dtype, np.integer)


def _outside(equation: JaxprEqn, inputs: Sequence[Known]) -> Iterator[tuple[int, int]]:
    """The known indices of one equation that are out of range, and the size of what they index."""
    name, parameters = equation.primitive.name, equation.params
    if name == "dynamic_slice":
        for start, size, width in zip(
            inputs[1:], _abstract(equation.invars[0]).shape, parameters["slice_sizes"], strict=False
        ):
            if start is not None:
                yield from _beyond(start, size, width)
    elif name == "gather" and parameters["mode"] == GatherScatterMode.PROMISE_IN_BOUNDS and inputs[1] is not None:
        axes = parameters["dimension_numbers"].start_index_map
        for place, axis in enumerate(axes):
            width = parameters["slice_sizes"][axis]
            yield from _beyond(inputs[1][..., place], _abstract(equation.invars[0]).shape[axis], width)
    elif name.startswith("scatter") and parameters["mode"] != GatherScatterMode.CLIP and inputs[1] is not None:
        for place, axis in enumerate(parameters["dimension_numbers"].scatter_dims_to_operand_dims):
            starts, size = inputs[1][..., place], _abstract(equation.invars[0]).shape[axis]
            if np.all((starts < 0) | (starts >= size)):  # some of many may be dropped on purpose
                yield from _beyond(starts, size, 1)


def _beyond(starts: Any, size: int, width: int) -> Iterator[tuple[int, int]]:
    """The first of them that is out of range, as it was written: one that is still negative had the size added."""
    wrong = starts[(starts < 0) | (starts > size - width)].reshape(-1)
    if wrong.size:
        yield int(wrong[0]) - (size if wrong[0] < 0 else 0), size


def _lines(equation: JaxprEqn) -> list[tuple[str, int]]:
    """From the outermost call inwards, as in a traceback."""
    frames = equation.source_info.traceback.frames if equation.source_info.traceback else []
    return [(frame.file_name, frame.line_num) for frame in reversed(frames)]
