"""An exact solution against what it is to solve: the equation, the constraint and the conditions.

    |F(u, Du, ...; x, μ)|  ≪  |f| + Σ_q |∂F/∂q| ‖q‖,      q = u and its terms,   f = F where all of them are zero

at random pairs, with every derivative exact and in double precision; ‖q‖ is the sum of the absolute values of which q
is the sum, such as Σ_i |∂²u/∂x_i²|. Where the factor a of the constraint u = aN + b
vanishes, u = b has to hold; where a condition prescribes u, that.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.derivatives.directions import Decomposition
from prism.derivatives.estimators import Exact
from prism.derivatives.frames import Frame
from prism.derivatives.taylor import Jet
from prism.errors import InputError
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import item, items
from prism.numerics.precision import in_double_precision
from prism.problem.checks.declarations import name_of
from prism.problem.checks.values import Pairs
from prism.problem.constraints import along_path
from prism.problem.family import Derivatives, Family
from prism.problem.terms import (
    constrained_value,
    decompositions,
    draw_directions,
    frames,
    place_at,
)
from prism.shapes import Key, Parameter, Point, Scalar

TOLERANCE = 0.02
"""Of the size of the terms, or of u. A wrong sign or a forgotten term leaves a residual of the size of a term; a series
or a quadrature is off by less: the least exact one of the catalogue, `HJBRosenbrock` in three dimensions, by 0.008."""
VANISHING = 1e-9
"""Of the size of the factor inside the domain: what rounding in double precision leaves of zero on the boundary."""
AFFORDABLE = 100_000
"""Numbers in all directions of an equation whose derivatives are taken exactly: a Laplacian in up to 300 dimensions."""

INSIDE = "inside"

Row = dict[str, Array]
"""What is compared at one pair, by what it is called."""


def check_exact(family: Family, pairs: Pairs, key: Key) -> None:
    """Raise an InputError where the exact solution of a family contradicts, at some pairs, what it declares."""
    if not family.has_exact:
        return
    with jax.enable_x64(True):
        double = in_double_precision(family)
        looks = jax.vmap(lambda *one: _look(double, *one))
        at_all = lambda own, points, parameters: looks(points, parameters, items(own, len(points)))
        rows = (np.asarray(side, np.float64) for side in pairs)
        try:
            compiled = jax.jit(at_all, compiler_options=on_cpu(RUNS_ONCE))
            found = jax.tree.map(np.asarray, compiled(key, *rows))
        except InputError:
            raise
        except (TypeError, ValueError, NotImplementedError):  # not for double precision, or not to be differentiated
            return
    named = name_of(family)
    _check_equation(named, found["equation"])
    size = np.max(np.abs(np.nan_to_num(found["value"])))
    _check_constraint(named, found["boundary"], size)
    for name, miss in found["conditions"].items():
        worst = _worst(miss, size)
        if worst > TOLERANCE:
            raise InputError(
                f'exact of {named} contradicts the condition "{name}": they differ by {worst:.2g} of the size of u; '
                "correct one of them"
            )


def _check_equation(named: str, found: Mapping[str, np.ndarray]) -> None:
    if not found:
        return
    worst = _worst(found["residual"], found["size"])
    if worst > TOLERANCE:
        raise InputError(
            f"exact of {named} does not solve its equation: the residual of it is {worst:.2g} of the size of the "
            "terms; correct exact or residual, leave exact out, or give values of a table as known_values"
        )


def _check_constraint(named: str, boundary: Mapping[str, Any], size: float) -> None:
    inside = boundary[INSIDE][0]
    typical = np.max(np.abs(inside), initial=0.0, where=np.isfinite(inside))
    for place, (factor, miss) in boundary.items():
        worst = _worst(np.where(np.abs(factor) <= VANISHING * typical, miss, 0.0), size)
        if worst > TOLERANCE:
            raise InputError(
                f"exact of {named} contradicts the constraint {place}: they differ by {worst:.2g} of the size of u; "
                "correct one of them"
            )


def _worst(missed: np.ndarray, size: Any) -> float:
    """The largest miss by its size; what is not a number tells nothing, and neither does a miss of nothing."""
    size = np.broadcast_to(size, missed.shape)
    told = np.isfinite(missed) & np.isfinite(size) & (missed != 0.0)
    relative = np.abs(missed[told]) / np.maximum(size[told], np.finfo(float).tiny)
    return float(np.max(relative, initial=0.0))


def _look(family: Family, x: Point, mu: Parameter, key: Key) -> dict[str, Any]:
    """At one pair: the residual of the exact solution, and how far it is from constraint and conditions."""
    exact = lambda place, m: jnp.asarray(family.exact(place, family.parameters.named(m)), x.dtype)

    def constrained(place: Point) -> tuple[Scalar, Scalar]:
        """a, and u − b."""
        zero, one = (constrained_value(family, jnp.full((), value), place, mu) for value in (0.0, 1.0))
        return one - zero, exact(place, mu) - zero

    targets = {
        name: condition.draw_at(mu, family.parameters, item(key, number))
        for number, (name, condition) in enumerate(family.conditions.items())
        if condition.at_every_parameter
    }
    places = {INSIDE: x, **_boundary(family, x)}
    factors, misses = jax.vmap(constrained)(jnp.stack([*places.values()]))  # one program for all of them
    return {
        "value": exact(x, mu),
        "equation": _equation(family, x, mu, key),
        "boundary": {name: (factors[number], misses[number]) for number, name in enumerate(places)},
        "conditions": {name: target.value - target.of(partial(exact, m=target.mu)) for name, target in targets.items()},
    }


def _boundary(family: Family, x: Point) -> dict[str, Point]:
    """The point moved to each part of the boundary, by what that is called."""
    domain, region = family.domain, family.domain.region
    space, time = x[: domain.dimension], x[domain.dimension :]
    moved = {}
    if region.norm is not None:
        distance = jnp.sqrt(jnp.sum(space * space))
        moved[f"where |x| = {region.norm[1]:g}"] = jnp.concatenate([space * (region.norm[1] / distance), time])
    if region.side is not None:
        moved |= {f"where x_0 = {side:g}": x.at[0].set(side) for side in domain.interval(0)}
    if region.horizon is not None:
        moved |= {f"at t = {t:g}": x.at[-1].set(t) for t in (0.0, region.horizon)}
    return moved


def _equation(family: Family, x: Point, mu: Parameter, key: Key) -> Row:
    """The residual of the exact solution and the size of its terms; nothing where derivatives are too many."""
    place = place_at(family, x, mu, None)
    decomposed = decompositions(family, draw_directions(family, Exact(), place, key), place)
    count = sum(found.weights.shape[0] for found in decomposed)
    if count * x.shape[0] > AFFORDABLE:
        return {}

    def own(y: Point) -> Scalar:
        """What the residual is of: the solution without a background."""
        u = jnp.asarray(family.exact(y, place.mu), x.dtype)
        return u - family.background(y, place.mu) if family.has_background else u

    terms = {"value": own(x)}
    sizes = {"value": jnp.abs(terms["value"])}
    for frame, found in zip(frames(family), decomposed, strict=True):
        own_terms, own_sizes = _terms(own, x, frame, found)
        terms, sizes = terms | own_terms, sizes | own_sizes
    return _residual_and_size(lambda given: family.residual(given, x, place.mu), terms, sizes)


def _terms(
    function: Callable[[Point], Scalar], x: Point, frame: Frame, decomposition: Decomposition
) -> tuple[Row, Row]:
    """The terms of a frame, and the size of each."""
    value, vectors = function(x), decomposition.directions.dense(x.shape[0])
    coefficients = along_path(lambda t, v: function(x + t * v), vectors, frame.order, x.dtype)
    jet = frame.constant(value, decomposition).polynomial(value, coefficients)
    if frame.order == 1 and not frame.is_fixed:  # v·∇u is itself a sum
        coefficients = [jnp.abs(vectors) @ jnp.abs(jax.grad(function)(x))]
    whole = Jet(value, tuple(coefficients), None, decomposition.weights)
    return frame.read(jet), frame.sizes(whole)


def _residual_and_size(residual: Callable[[Derivatives], Scalar], terms: Row, sizes: Row) -> Row:
    def at(given: Row) -> Scalar:
        return residual(Derivatives(given["value"], {name: q for name, q in given.items() if name != "value"}))

    found, slopes = jax.value_and_grad(at)(terms)
    source = jnp.nan_to_num(at(jax.tree.map(jnp.zeros_like, terms)), posinf=0.0, neginf=0.0)
    parts = [jnp.abs(slopes[name]) * sizes[name] for name in terms]
    return {"residual": found, "size": jnp.abs(source) + jnp.sum(jnp.stack(parts))}
