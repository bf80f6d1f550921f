"""Functions traced and compiled ahead of their call, from the shapes of their arguments.

    traced = trace(f, a, b)       arrays in a and b may be shapes alone
    traced.shapes                 what f gives, with shapes for arrays
    traced.compile()              may be done in another thread
    traced(a, b)                  f(a, b)

What is not an array, in arguments or results, belongs to the program: in a call it is ignored, and the values given to
`trace` hold. A function traced lately for like arguments is not traced or compiled again.
"""

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.numerics.compilation import CompilerOptions, on_cpu

KEPT_FUNCTIONS = 24
"""Traced functions that are kept: other seeds of a problem, and other lengths of a run, share them."""


class TracedFunction:
    """A function traced for certain shapes; `rest` is what of its result is no array."""

    def __init__(self, stage: jax.stages.Traced, rest: Any, options: CompilerOptions):
        self._stage, self._rest, self._options = stage, rest, dict(options)
        self._lowered: jax.stages.Lowered | None = None
        self._compiled: jax.stages.Compiled | None = None

    @property
    def shapes(self) -> Any:
        """The result, with shapes for arrays."""
        return eqx.combine(self._stage.out_info, self._rest)

    def lower(self) -> jax.stages.Lowered:
        """The program before it is compiled: work of Python, and best done before a thread compiles."""
        if self._lowered is None:
            self._lowered = self._stage.lower()
        return self._lowered

    def compile(self) -> jax.stages.Compiled:
        """The executable, compiled when it is first asked for."""
        if self._compiled is None:
            self._compiled = self.lower().compile(compiler_options=on_cpu(self._options))
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        return eqx.combine(self.compile()(*eqx.filter(arguments, eqx.is_array)), self._rest)


def trace(
    function: Callable, *arguments: Any, options: CompilerOptions = MappingProxyType({}), donate: tuple[int, ...] = ()
) -> TracedFunction:
    """The function for arguments like these; a call uses up those whose numbers are in `donate`."""
    arrays, static = eqx.partition(arguments, _is_array)
    leaves, array_tree = jax.tree.flatten(arrays)
    constants, static_tree = jax.tree.flatten(static)
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    settings = (tuple(options.items()), donate, jnp.result_type(float), tuple(map(type, constants)))
    return _traced(function, array_tree, shapes, static_tree, tuple(constants), settings)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """For tracing, which makes many objects and keeps them: a fifth faster without looking for garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@functools.lru_cache(maxsize=KEPT_FUNCTIONS)
def _traced(
    function: Callable, array_tree: Any, shapes: tuple, static_tree: Any, constants: tuple, settings: tuple
) -> TracedFunction:
    """What the program depends on is in the key: the function, its arguments, whether JAX computes in float64. Other
    settings of JAX are taken as they were at the first call."""
    options, donate, *_ = settings
    arrays = jax.tree.unflatten(array_tree, [jax.ShapeDtypeStruct(*shape) for shape in shapes])
    static, rest = jax.tree.unflatten(static_tree, constants), []

    def on_arrays(*arrays: Any) -> Any:
        given, other = eqx.partition(function(*eqx.combine(arrays, static)), eqx.is_array)
        rest.append(other)
        return given

    stage = jax.jit(on_arrays, donate_argnums=donate).trace(*arrays)
    return TracedFunction(stage, rest[0], dict(options))


def _is_array(leaf: object) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
