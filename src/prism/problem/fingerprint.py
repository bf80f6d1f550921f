"""Which equation a family is, told by what JAX traces of it: a stored network belongs to that one alone.

Residual, constraint and conditions are traced at one pair, along random directions, for a wave in place of a network.
Comments, names and the form of the code do not count. Nor do the arrays of the family, which are stored with a
solution, or its exact solution; numbers in the formulas, domain and parameters do.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn
from jaxtyping import Array

from prism.derivatives.estimators import Gaussian
from prism.numerics.keys import Purpose, child, item, root
from prism.problem.family import Family
from prism.problem.terms import (
    constrained_value,
    decompositions,
    derivatives,
    draw_directions,
    place_at,
    sample_pair,
)
from prism.problem.wave import Wave
from prism.shapes import Key

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def fingerprint(family: Family) -> str:
    """JAX's version and precision, which decide how an equation is traced, and a hash of the trace."""
    arrays, static = eqx.partition(family, eqx.is_array)
    traced = jax.make_jaxpr(lambda leaves, key: _equation(eqx.combine(leaves, static), key))(arrays, root(0))
    digest = _digest(traced)
    for declared in (family.domain, family.parameters):
        digest.update(ADDRESS.sub("", eqx.tree_pformat(declared, short_arrays=True)).encode())
    precision = jnp.zeros(()).dtype
    return f"jax-{jax.__version__}-{precision}:{digest.hexdigest()}"


def trace_hash(traced: ClosedJaxpr) -> str:
    """The same for two traces of one function: of their equations and of the arrays that they close over."""
    return _digest(traced).hexdigest()


def _digest(traced: ClosedJaxpr) -> Any:
    digest = hashlib.sha256(ADDRESS.sub("", str(traced.jaxpr)).encode())
    for constant in constants_of(traced):
        is_key = jnp.issubdtype(constant.dtype, jax.dtypes.prng_key)
        digest.update(np.asarray(jax.random.key_data(constant) if is_key else constant).tobytes())
    return digest


def constants_of(traced: ClosedJaxpr) -> Iterator[Any]:
    """Arrays that the trace closes over, those of functions compiled inside it too."""
    for program in programs_in(traced):
        yield from program.consts


def programs_in(traced: ClosedJaxpr) -> Iterator[ClosedJaxpr]:
    """The trace, and all that its equations call."""
    yield traced
    for equation in traced.jaxpr.eqns:
        for program in called_by(equation):
            yield from programs_in(program)


def called_by(equation: JaxprEqn) -> list[ClosedJaxpr]:
    """The programs that an equation of a trace calls."""
    leaves = jax.tree.leaves(equation.params, is_leaf=lambda leaf: isinstance(leaf, ClosedJaxpr))
    return [leaf for leaf in leaves if isinstance(leaf, ClosedJaxpr)]


def same_equation(one: str | None, other: str | None) -> bool:
    """Whether two fingerprints are of one equation, as far as they can be compared: those of one version of JAX and
    one precision."""
    if one is None or other is None or one.split(":")[0] != other.split(":")[0]:
        return True
    return one == other


def _equation(family: Family, key: Key) -> list[Array]:
    """The residual at a random pair, u there, and what the conditions ask for."""
    x, mu = sample_pair(family, key)
    place = place_at(family, x, mu, None)
    draws = draw_directions(family, Gaussian(2), place, child(key, Purpose.DIRECTIONS))
    wave = Wave(x)
    u = derivatives(family, decompositions(family, draws, place), wave, place)
    targets = [
        condition.draw(family.parameters, item(child(key, Purpose.CONDITIONS), number)).value
        for number, condition in enumerate(family.conditions.values())
    ]
    return [family.residual(u, x, place.mu), constrained_value(family, wave.value().value, x, mu), *targets]
