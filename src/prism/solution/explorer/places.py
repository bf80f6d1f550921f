"""Points on planes through the centre: which coordinates are moved, where to, and a μ for each."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from prism.problem.family import Family
from prism.solution.explorer.subject import Subject, mu_of
from prism.solution.prediction import PairFunction, at_places
from prism.solution.slices import Axis


def planes(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """Every pair of the coordinates, by their numbers among the axes; of one coordinate its line."""
    numbers = range(len(axes))
    return list(itertools.combinations(numbers, 2)) if len(axes) > 1 else [(0,)]


@dataclass(frozen=True)
class Places:
    """Rows for `at_places`: the coordinates of a plane and, where there is time, time behind them."""

    numbers: Int[np.ndarray, "rows plane"]
    """Which of the axes span the plane of each row."""
    indices: Int[np.ndarray, "rows moving"]
    values: Float[np.ndarray, "rows moving"]
    mu: Float[np.ndarray, "rows p"]

    @staticmethod
    def of(
        family: Family,
        axes: Sequence[Axis],
        numbers: Int[np.ndarray, "rows plane"],
        fractions: Float[np.ndarray, "rows moving"],
        mu: Float[np.ndarray, "rows p"],
    ) -> "Places":
        """Where coordinates are given from −1 to 1, the ends of their axes; time as it is."""
        plane, last = numbers.shape[1], family.domain.coordinates - 1
        low, high, index = np.asarray([[axis.low, axis.high, axis.index] for axis in axes])[numbers].transpose(2, 0, 1)
        times = fractions[:, plane:]
        values = (low + high) / 2 + (high - low) / 2 * fractions[:, :plane]
        indices = np.concatenate([index.astype(int), np.full(times.shape, last)], axis=1)
        return Places(numbers, indices, np.concatenate([values, times], axis=1), mu)

    @staticmethod
    def random(subject: Subject, axes: Sequence[Axis], count: int, seed: int = 0) -> "Places":
        """On every plane in turn, inside the ball where the domain is one; μ uniform in the trained box."""
        generator, family = np.random.default_rng(seed), subject.family
        domain = family.domain
        numbers = np.asarray(list(itertools.islice(itertools.cycle(planes(axes)), count)))
        inside = 1.0 if domain.ball_radius is None else numbers.shape[1] ** -0.5
        fractions = inside * generator.uniform(-1.0, 1.0, numbers.shape)
        if domain.time_horizon is not None:
            fractions = np.column_stack([fractions, domain.time_horizon * generator.uniform(size=count)])
        low, high = subject.reaches[-1]
        mu = mu_of(family.parameters, generator.uniform(low, high, (count, len(low))))
        return Places.of(family, axes, numbers, fractions, mu)

    def ask(self, function: PairFunction, family: Family) -> Float[np.ndarray, "rows"]:
        """The function at every row."""
        return at_places(function, family.domain, self.indices, self.values, self.mu)

    def as_json(self) -> list[dict[str, object]]:
        """Questions, as the page asks them."""
        plane = self.numbers.shape[1]
        timed = self.values.shape[1] > plane
        return [
            {
                "space": dict(zip(own.tolist(), row[:plane].tolist(), strict=True)),
                "time": float(row[-1]) if timed else None,
                "mu": mu.tolist(),
            }
            for own, row, mu in zip(self.numbers, self.values, self.mu, strict=True)
        ]
