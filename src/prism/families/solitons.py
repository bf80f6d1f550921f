"""Families of high order in one or two space dimensions whose solution is one solitary wave (paper, section 5.11).

The state at t = 0 holds for every network, u = u₀ + (t/T) N. On the faces of the box, values and the
derivatives in x that an equation of third or fourth order asks for beside them are conditions of the loss.
"""

import abc
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.errors import InputError
from prism.numerics.arguments import real
from prism.numerics.texts import counted
from prism.problem.boxes import Box, Faces
from prism.problem.conditions import Condition, Prescribed
from prism.problem.constraints import Constraint, HardConstraint
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.time_domains import TimeCylinder
from prism.shapes import Key, Named, Point, Scalar

HORIZON = 1.0
FACE_POINTS = 50
"""Points of each condition per step."""
CROSSING = 2.0
"""By how much the phase of a wave in two dimensions changes between the middle of the box and its faces along y."""


VARIANTS = {"wave": "which solitary wave: its wave numbers, or its speed"}
"""What else `SolitonFamily.create` takes."""


class SolitonFamily(Family):
    """An equation for u(x, t) or u(x, y, t), 0 ≤ t ≤ 1, in a box that holds the crest of one wave for every μ."""

    domain: TimeCylinder
    parameters: ParameterSpace
    wave: tuple[float, ...] = eqx.field(static=True)
    """The numbers that choose the wave."""

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))
    """The parameters unless others are given: the paper's."""
    space_dimension: ClassVar[int]
    usual_wave: ClassVar[tuple[float, ...]]
    wave_names: ClassVar[str]

    @classmethod
    def create(
        cls,
        dimension: int | None = None,
        key: Key | None = None,
        parameters: ParameterSpace | None = None,
        wave: Sequence[float] | None = None,
    ) -> Self:
        """The problem for one wave, `usual_wave` unless given. Nothing of it is random, and its dimension is fixed."""
        space, chosen = parameters or cls.box, cls.usual_wave if wave is None else tuple(wave)
        if dimension not in (None, cls.space_dimension):
            own = counted(cls.space_dimension, "space dimension")
            raise InputError(f"{cls.__name__} has {own}, not {dimension}; leave the dimension out")
        if len(chosen) != len(cls.usual_wave) or not all(
            0.0 < real("a number of the wave", k) < math.inf for k in chosen
        ):
            raise InputError(
                f"{chosen} is no wave of {cls.__name__}; give a positive number for each of {cls.wave_names}, such as "
                f"{cls.usual_wave}"
            )
        for name, (low, high) in space.bounds().items():
            if low <= 0.0:
                raise InputError(f"{name} in [{low:g}, {high:g}] of {cls.__name__}: give an interval above zero")
        ends = itertools.product(*space.bounds().values())
        corners = [Named(dict(zip(space.names, corner, strict=True))) for corner in ends]
        domain = TimeCylinder(cls.holding(chosen, corners), HORIZON)
        return cls(domain, space, chosen)

    @classmethod
    @abc.abstractmethod
    def holding(cls, wave: tuple[float, ...], corners: Sequence[Named]) -> Box:
        """The box that holds the crest of this wave at all times, whatever the parameters between these corners."""

    def constraint(self) -> Constraint:
        return HardConstraint(
            factor=lambda x, mu: x[-1] / self.domain.horizon,
            offset=lambda x, mu: self.exact(x.at[-1].set(0.0), mu),
        )

    @property
    def conditions(self) -> Mapping[str, Condition]:
        low, high = self.domain.interval(0)
        length = (high - low) / 2
        across = lambda x: jnp.zeros_like(x).at[0].set(length)
        derivative = lambda x, mu: jax.jvp(lambda y: self.exact(y, mu), (x,), (across(x),))[1]
        ends = Faces(self.domain, 0)
        found: dict[str, Condition] = {
            "ends": Prescribed(ends, self.exact, FACE_POINTS),
            "derivatives": Prescribed(ends, derivative, FACE_POINTS, along=across),
        }
        if self.domain.dimension > 1:
            found["sides"] = Prescribed(Faces(self.domain, 1), self.exact, FACE_POINTS)
        return found


class LineSoliton(SolitonFamily):
    """A wave of the phase kx + ly − ω(μ)t."""

    space_dimension = 2
    wave_names = "k, l"
    reach: ClassVar[float]
    """The phase at which the wave has fallen, or risen, to within a hundredth of its rest."""

    @classmethod
    def holding(cls, wave: tuple[float, ...], corners: Sequence[Named]) -> Box:
        k, l = wave
        shifts = [0.0, *[float(cls.frequency(k, l, mu)) * HORIZON for mu in corners]]
        beyond = cls.reach + CROSSING
        return Box(((min(shifts) - beyond) / k, -CROSSING / l), ((max(shifts) + beyond) / k, CROSSING / l))

    @staticmethod
    @abc.abstractmethod
    def frequency(k: float, l: float, mu: Named) -> Scalar | float:
        """ω(μ), of arrays or of numbers; monotonic in each parameter."""

    def phase(self, x: Point, mu: Named) -> Scalar:
        """kx + ly − ωt."""
        k, l = self.wave
        return k * x[0] + l * x[1] - self.frequency(k, l, mu) * x[2]

    def rate(self, mu: Named) -> Scalar:
        k, l = self.wave
        return jnp.abs(self.frequency(k, l, mu))
