"""Solitary waves: what is given of them at the start and on the faces of the box, built in or asked for.

    python benchmarks/wave_conditions.py --seconds 60
    python benchmarks/wave_conditions.py --families gkdv --ways "start built in" --seeds 1

nothing built in: u free, the state at t = 0 a soft condition as those on the faces are. start built in: the family as
it is, u = u₀ + (t/T)N. values built in: the faces too, by Coons' blending of what is given there, so that only
derivatives in x are asked for. all built in: these too, by Hermite's cubics. Relative L2 over 100 unseen μ after the
same seconds of training, at the final state. Results are added to benchmarks/results/wave_conditions.json;
`python benchmarks/tables.py` makes the table of the documents from them.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp

import prism
from prism.families import KP, GKdV, KdV2D
from prism.families.solitons import FACE_POINTS, SolitonFamily
from prism.files.storage import write_file
from prism.studies.trials import solved_by_default

RESULTS = Path(__file__).parent / "results" / "wave_conditions.json"
KINDS: dict[str, type[SolitonFamily]] = {"kdv2d": KdV2D, "kp": KP, "gkdv": GKdV}
Function = Callable[[jax.Array], jax.Array]
Projection = Callable[[Function], Function]
"""Of functions of a point onto those that what is given on some faces determines."""


class GivenWave(prism.Family):
    """The equation of a solitary wave, with other ways of giving the wave's values."""

    wave: SolitonFamily

    @property
    def domain(self):
        return self.wave.domain

    @property
    def parameters(self):
        return self.wave.parameters

    @property
    def terms(self):
        return self.wave.terms

    def residual(self, u, x, mu):
        return self.wave.residual(u, x, mu)

    def exact(self, x, mu):
        return self.wave.exact(x, mu)

    def rate(self, mu):
        return self.wave.rate(mu)


class NothingBuiltIn(GivenWave):
    @property
    def conditions(self):
        start = prism.Prescribed(prism.AtTime(self.domain, 0.0), self.exact, FACE_POINTS)
        return {**self.wave.conditions, "start": start}


class ValuesBuiltIn(GivenWave):
    """u = B + t s(1 − s) ... N, where B agrees with the wave at t = 0 and on all faces."""

    @property
    def conditions(self):
        return {"derivatives": self.wave.conditions["derivatives"]}

    def across(self, axis: int) -> Projection:
        """What stands between the two faces of one axis."""
        return between(axis, *self.domain.interval(axis))

    def constraint(self):
        axes = range(self.domain.dimension)
        projections = [at_start, *map(self.across, axes)]
        offset = lambda x, mu: blended(lambda y: self.exact(y, mu), projections)(x)
        return prism.HardConstraint(factor=self.factor, offset=offset)

    def factor(self, x, mu):
        product = x[-1] / self.domain.horizon
        for axis in range(self.domain.dimension):
            s = part(x, axis, *self.domain.interval(axis))
            product = product * (4.0 * s * (1.0 - s)) ** self.power(axis)
        return product

    def power(self, axis: int) -> int:
        """Up to which derivative nothing is left to N on the faces of an axis."""
        return 1


class AllBuiltIn(ValuesBuiltIn):
    """The same with derivatives in x: the square of s(1 − s) there."""

    @property
    def conditions(self):
        return {}

    def across(self, axis: int) -> Projection:
        return smoothly_between(axis, *self.domain.interval(axis)) if axis == 0 else super().across(axis)

    def power(self, axis: int) -> int:
        return 2 if axis == 0 else 1


WAYS: dict[str, Callable[[SolitonFamily], prism.Family]] = {
    "nothing built in": NothingBuiltIn,
    "start built in": lambda family: family,
    "values built in": ValuesBuiltIn,
    "all built in": AllBuiltIn,
}


def part(x: jax.Array, axis: int, low: float, high: float) -> jax.Array:
    """How far a point is from the lower face to the upper one."""
    return (x[axis] - low) / (high - low)


def at_start(function: Function) -> Function:
    return lambda x: function(x.at[-1].set(0.0))


def between(axis: int, low: float, high: float) -> Projection:
    """Linear between the values on two faces."""

    def projected(function: Function) -> Function:
        def at(x: jax.Array) -> jax.Array:
            s = part(x, axis, low, high)
            return (1.0 - s) * function(x.at[axis].set(low)) + s * function(x.at[axis].set(high))

        return at

    return projected


def smoothly_between(axis: int, low: float, high: float) -> Projection:
    """The cubic with the values and derivatives on two faces."""

    def projected(function: Function) -> Function:
        def at(x: jax.Array) -> jax.Array:
            s, across = part(x, axis, low, high), jnp.zeros_like(x).at[axis].set(high - low)
            first, rise = jax.jvp(function, (x.at[axis].set(low),), (across,))
            last, fall = jax.jvp(function, (x.at[axis].set(high),), (across,))
            from_low = (1.0 - s) ** 2 * ((1.0 + 2.0 * s) * first + s * rise)
            return from_low + s**2 * ((3.0 - 2.0 * s) * last + (s - 1.0) * fall)

        return at

    return projected


def blended(function: Function, projections: Sequence[Projection]) -> Function:
    """The Boolean sum P ⊕ Q = P + Q − PQ of projections that commute: agrees with the function where any of them does,
    and asks for it nowhere else (Gordon, SIAM J. Numer. Anal. 8, 1971)."""
    first, *rest = projections
    own = first(function)
    if not rest:
        return own
    others = blended(function, rest)
    both = first(others)
    return lambda x: own(x) + others(x) - both(x)


def measured(name: str, way: str, seconds: float, seed: int) -> dict:
    family = WAYS[way](KINDS[name].create())
    outcome = solved_by_default(family, seconds, seed=seed)
    found = outcome.solution.training.evaluation
    labels = {"equation": name, "given": way, "seed": seed, "seconds": seconds, "steps": outcome.steps}
    errors = {"relative L2": found.relative_l2, "trivial": found.trivial_error, "μ-blind": found.mu_blind_error}
    return {**labels, **errors, "skill": found.skill}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of training, for each")
    options = parser.parse_args()
    for name in options.families:
        for way in options.ways:
            for seed in options.seeds:
                add(measured(name, way, options.seconds, seed))


def add(row: dict) -> None:
    """To the results, in the place of an earlier one."""
    print(json.dumps(row), flush=True)
    place = lambda one: (list(KINDS).index(one["equation"]), list(WAYS).index(one["given"]), one["seed"])
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    rows = [*(other for other in rows if place(other) != place(row)), row]
    write_file(RESULTS, (json.dumps(sorted(rows, key=place), indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
