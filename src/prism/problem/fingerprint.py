"""Which equation a family is, told by what JAX traces of it: a stored network belongs to that one alone.

Residual, constraint and conditions are traced at one pair, along random directions, for a wave in place of a network.
Comments, names and the form of the code do not count. Nor do the arrays of the family, which are stored with a
solution, or its exact solution; numbers in the formulas, domain and parameters do.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
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
from prism.problem.traced_programs import digest_of_trace, without_addresses
from prism.problem.wave import Wave
from prism.shapes import Key

TRACED_AS = "series"
"""How this version writes equations for JAX. To be changed with it, so that earlier hashes are no other equations but
ones that cannot be compared: those of "plain" have every partial derivative in a jet of its own."""


def fingerprint(family: Family) -> str:
    """JAX's version and precision, which decide how an equation is traced, and a hash of the trace."""
    arrays, static = eqx.partition(family, eqx.is_array)
    traced = jax.make_jaxpr(lambda leaves, key: _equation(eqx.combine(leaves, static), key))(arrays, root(0))
    digest = digest_of_trace(traced)
    digest.update(declared_text(family).encode())
    return f"{traced_under()}:{digest.hexdigest()}"


def declared_text(family: Family) -> str:
    """Domain and parameters, which a trace at one pair does not show."""
    declared = (family.domain, family.parameters)
    return "".join(without_addresses(eqx.tree_pformat(one, short_arrays=True)) for one in declared)


def traced_under() -> str:
    """What decides how a function is traced."""
    return f"jax-{jax.__version__}-{jnp.zeros(()).dtype}-{TRACED_AS}"


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
        condition.draw(family.parameters, item(child(key, Purpose.CONDITIONS), number))
        for number, condition in enumerate(family.conditions.values())
    ]
    values = [target.value for target in targets]
    vectors = [target.along for target in targets if target.along is not None]
    return [family.residual(u, x, place.mu), constrained_value(family, wave.value().value, x, mu), *values, *vectors]
