"""The laws by which points of a domain can be drawn.

prism.Ball(100).drawn_by(prism.UniformInVolume())
cylinder.drawn_by(prism.Mixture([prism.OwnLaw(), prism.Near(jnp.zeros(101), 0.1)], [0.5, 0.5]))
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.numerics.keys import Purpose, child, item
from prism.numerics.random import normals
from prism.problem.family import Family
from prism.problem.points import Domain, Draw, Law, as_law
from prism.shapes import Key, Point, Scalar


class OwnLaw(Law):
    """As the domain itself draws points to train on: `Mixture([OwnLaw(), Near(x, 0.1)], [0.5, 0.5])` adds others.

    With time these points wander as far as the equation's diffusion carries them, where the domain says so.
    """

    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        return domain.training_point(key, diffusivity)

    def spreads(self, domain: Domain) -> tuple[float, float]:
        return domain.spread, domain.norm_spread


class EvaluationLaw(Law):
    """As the domain itself draws points to measure errors on: `domain.drawn_by(UniformInVolume(), EvaluationLaw())`
    trains on other points and measures as before."""

    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        return domain.sample(key)


class UniformInVolume(Law):
    """Uniform in the volume of a ball or a cube; in a time cylinder around one, t is uniform too.

    `Ball(100).drawn_by(UniformInVolume())` has |x| = R·U^(1/d), U uniform on (0, 1): nearly R in many dimensions.
    """

    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        return domain.volume_point(key)


def _rows(points: Any) -> Float[Array, "n coordinates"]:
    """One point or some, as rows."""
    try:
        with jax.ensure_compile_time_eval():
            rows = jnp.atleast_2d(jnp.asarray(points, float))
            usable = rows.ndim == 2 and rows.size > 0 and bool(jnp.all(jnp.isfinite(rows)))
    except jax.errors.ConcretizationTypeError as error:
        raise InputError(
            "Near is given points that are only known later, inside a program; build the law outside of it, or of "
            "NumPy arrays"
        ) from error
    if not usable:
        raise InputError(
            f"Near is given points of shape {np.shape(points)}; give finite numbers of shape (coordinates,) for one "
            "point or (n, coordinates) for n of them"
        )
    return rows


class Near(Law):
    """A row of `points`, each as often as another, plus deviation·normal, clipped into the domain.

    `Near(jnp.zeros(100), 0.01)` is about the origin. The deviation is that of every coordinate, so a point lies about
    deviation·√d from its row. With time, `points` have it as the last coordinate; it moves by `time_deviation`, which
    is `deviation` unless given, and is clipped to [0, T]: at a row with t = 0 half of the points have t = 0, the others
    come after. `time_deviation=0.0` keeps the time of the row.
    """

    points: Float[Array, "n coordinates"] = eqx.field(converter=_rows)
    deviation: float = eqx.field(static=True)
    time_deviation: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        for name, value in (("deviation", self.deviation), ("time_deviation", self.time_deviation)):
            if value is not None and not 0.0 <= value < float("inf"):
                raise InputError(f"the {name} of Near is {value:g}; give a finite number that is not negative")

    def check(self, domain: Domain) -> None:
        if self.points.shape[1] != domain.coordinates:
            time = ", time last" if domain.coordinates > domain.dimension else ""
            raise InputError(
                f"Near has points of {self.points.shape[1]} coordinates; those of this domain have "
                f"{domain.coordinates}{time}"
            )

    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        row = jax.random.randint(child(key, Purpose.ROW), (), 0, self.points.shape[0])
        in_time = self.deviation if self.time_deviation is None else self.time_deviation
        deviations = jnp.full(domain.coordinates, self.deviation).at[domain.dimension :].set(in_time)
        return domain.clipped(self.points[row] + deviations * normals(child(key, Purpose.NOISE), domain.coordinates))


class Mixture(Law):
    """Each point by one of the laws, chosen with these weights: `Mixture([OwnLaw(), Near(x, 0.1)], [3, 1])` draws every
    fourth point near x. A law may also be a function key -> point.

    Every law draws, and one is kept: a mixture costs as many draws as it has laws.
    """

    laws: tuple[Law, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, laws: Sequence[Law | Draw], weights: Sequence[float | int]):
        if len(laws) != len(weights):
            raise InputError(f"a mixture of {len(laws)} laws has {len(weights)} weights; give one for each")
        total = sum(weights)
        if not all(weight >= 0.0 for weight in weights) or not 0.0 < total < float("inf"):
            raise InputError(
                f"the weights of a mixture are {list(weights)}; give finite numbers, none negative and not all zero"
            )
        self.laws = tuple(as_law(law) for law in laws)
        self.weights = tuple(float(weight / total) for weight in weights)

    def check(self, domain: Domain) -> None:
        for law in self.laws:
            law.check(domain)

    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        shares = np.cumsum(self.weights)
        chosen = jnp.sum(jax.random.uniform(child(key, Purpose.ROW)) >= jnp.asarray(shares[:-1] / shares[-1], float))
        points = [law.draw(domain, item(key, number), diffusivity) for number, law in enumerate(self.laws)]
        return jax.lax.select_n(chosen, *points)


def evaluated_by(family: Family, law: Law | Draw) -> Family:
    """The same family with its errors measured at points of another law."""
    if "domain" not in {field.name for field in dataclasses.fields(family)}:
        raise InputError(
            f"{type(family).__name__} has its domain fixed in the class; to measure under another law declare it as a "
            "field, domain: prism.Domain"
        )
    return eqx.tree_at(lambda one: one.domain, family, family.domain.drawn_by(OwnLaw(), evaluation=law))
