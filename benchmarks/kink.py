"""Allen-Cahn from the kinked state arctan(max_i x_i): ways to give the initial state, after the same time.

    python benchmarks/kink.py --dims 10 100 --seconds 60

built in: the family as it is, u = Φ(t, v) + w, with v the initial state diffused by the heat kernel in closed form and
Φ the flow of the reaction. diffused: v alone as a hard offset, u = v + tN. soft: u free, u(x, 0) asked for at 100
random points of every batch. kinked: the initial state as a hard offset, differentiated at points, which misses its
kinks. The lift of the first is |x|² and t, that of the others the usual one. Errors are relative L1 at (0, 0.3), the
mean over 100 unseen μ, against multilevel Picard iteration; the trivial one is that of N = 0. Results are added to
benchmarks/results/kink.json; `python benchmarks/tables.py` makes the table of the documents from them.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import prism
from prism.families import AllenCahnTime
from prism.families.semilinear import HORIZON, SemilinearFamily
from prism.files.storage import write_file
from prism.numerics.keys import Purpose, stream
from prism.studies.trials import solved_by_default

RESULTS = Path(__file__).parent / "results" / "kink.json"
POINTS, WEIGHT = 100, 10.0
"""Of the soft condition."""


class WholeSolution(prism.Family):
    """u_t = Δu + μ₁u − μ₂u³ for u itself, judged where the built-in family is."""

    built_in: SemilinearFamily

    @property
    def domain(self):
        return self.built_in.domain

    @property
    def parameters(self):
        return self.built_in.parameters

    @property
    def terms(self):
        return self.built_in.terms

    def residual(self, u, x, mu):
        return u.t - u.lap - self.built_in.reaction(u.value, mu)

    def initial(self, x, mu):
        return self.built_in.initial(x[:-1])

    def known_values(self, parameters):
        return self.built_in.known_values(parameters)


class Soft(WholeSolution):
    """The initial state asked for where the diffusion that leads to (0, T) begins."""

    @property
    def conditions(self):
        space = prism.WholeSpace(self.domain.dimension, (2.0 * HORIZON) ** 0.5, inwards=0.0)
        start = prism.AtTime(prism.TimeCylinder(space, HORIZON, wandering=False), 0.0)
        return {"initial state": prism.Prescribed(start, self.initial, points=POINTS, weight=WEIGHT)}


class Kinked(WholeSolution):
    """The initial state as the offset of a hard constraint."""

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: x[-1], offset=self.initial, allow_kinks=True)


class Diffused(WholeSolution):
    """The same with the initial state smoothed by the heat kernel, which solves the equation without a reaction."""

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: x[-1], offset=lambda x, mu: self.built_in.diffused(x))


WAYS = {"built in": lambda family: family, "diffused": Diffused, "soft": Soft, "kinked": Kinked}


def measured(dim: int, way: str, seconds: float) -> dict:
    built_in = AllenCahnTime.create(dim, stream(0, Purpose.PROBLEM))
    outcome = solved_by_default(WAYS[way](built_in), seconds)
    found = outcome.solution.training.evaluation
    mean = lambda name: float(np.mean([getattr(one, name) for one in found.by_parameter]))
    errors = {"relative L1": mean("relative_l2"), "trivial": mean("trivial_error"), "μ-blind": mean("mu_blind_error")}
    labels = {"d": dim, "initial state": way, "seconds": seconds, "steps": outcome.steps}
    return {**labels, **errors, "reference ±": found.reference_uncertainty}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--seconds", type=float, default=60.0, help="of steps, for each")
    options = parser.parse_args()
    for dim in options.dims:
        for way in options.ways:
            row = measured(dim, way, options.seconds)
            print(json.dumps(row), flush=True)
            rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
            rows = [*(other for other in rows if (other["d"], other["initial state"]) != (dim, way)), row]
            write_file(RESULTS, (json.dumps(sorted(rows, key=lambda one: one["d"]), indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
