"""Two equations in time as a new user types them in, from public names alone, and their errors.

    python benchmarks/typed_in.py heat --dims 300 3000 --minutes 2
    python benchmarks/typed_in.py control --dims 50 500 --minutes 2
    python benchmarks/typed_in.py control --dims 50 --minutes 1 --laws sampled inwards wandering both

heat: u_t = κΔu from exp(−a|x|²/d), x ~ N(0, I), t up to 1. control: u_t + Δu − λ|∇u|² = 0 to log((1 + |x|²)/2) at
t = 1; at ten typical points and at x = 0 it is compared with −(1/λ) log E exp(−λ g(x + √(2(1−t)) Z)), the mean over
400,000 draws; so are the best answer that ignores λ, and log of the mean of (1 + |X|²)/2, which is u where d is large.
`--laws` are laws of the points that are trained on (`LAWS` below), `both` unless given. Results are added to
benchmarks/results/typed_in.json; `python benchmarks/tables.py` makes the tables of the documents from them.
"""

import argparse
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import prism
from prism.files.storage import write_file

RESULTS = Path(__file__).parent / "results" / "typed_in.json"
DRAWS = 400_000
LAWS = {"sampled": (0.0, False), "inwards": (0.5, False), "wandering": (0.0, True), "both": (0.5, True)}
"""Points to train on: as errors are measured, half of them drawn towards the origin, carried off by the diffusion."""


class Heat(prism.Family):
    """u_t = κΔu, u(x, 0) = exp(−a|x|²/d)."""

    domain: prism.TimeCylinder
    parameters = prism.Uniform(kappa=(0.2, 1.0), a=(0.5, 2.0))
    terms = {"t": prism.TimeDerivative(), "lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.t - mu.kappa * u.lap

    def constraint(self):
        start = lambda x, mu: jnp.exp(-mu.a * jnp.sum(x[:-1] ** 2) / self.domain.dimension)
        return prism.HardConstraint(factor=lambda x, mu: x[-1], offset=start)

    def exact(self, x, mu):
        d = self.domain.dimension
        spread = 1.0 + 4.0 * mu.a * mu.kappa * x[-1] / d
        return spread ** (-d / 2) * jnp.exp(-mu.a * jnp.sum(x[:-1] ** 2) / (d * spread))


class Control(prism.Family):
    """u_t + Δu − λ|∇u|² = 0, u(x, 1) = log((1 + |x|²)/2)."""

    domain: prism.TimeCylinder
    parameters = prism.Uniform(lam=(0.5, 2.0))
    terms = {"t": prism.TimeDerivative(), "lap": prism.Laplacian(), "grad2": prism.GradientNormSquared()}

    def residual(self, u, x, mu):
        return u.t + u.lap - mu.lam * u.grad2

    def constraint(self):
        terminal = lambda x, mu: jnp.log((1.0 + jnp.sum(x[:-1] ** 2)) / 2.0)
        return prism.HardConstraint(factor=lambda x, mu: 1.0 - x[-1], offset=terminal)


def by_sampling(x: np.ndarray, lams: np.ndarray) -> np.ndarray:
    """u of `Control` at (x, t) for each λ, from draws of |x + √(2(1−t)) Z|²."""
    draw, deviation = np.random.default_rng(0), np.sqrt(2.0 * (1.0 - x[-1]))
    along = np.linalg.norm(x[:-1]) + deviation * draw.standard_normal(DRAWS)
    logarithm = np.log((1.0 + along**2 + deviation**2 * draw.chisquare(len(x) - 2, DRAWS)) / 2.0)
    return np.asarray([-np.log(np.mean(np.exp(-lam * logarithm))) / lam for lam in lams])


def errors_of_heat(solution: prism.Solution, seed: int) -> dict[str, float]:
    """Over held-out points and parameters, beside what needs no learning."""
    found = solution.evaluate(seed)
    return {"relative_l2": found.relative_l2, "trivial": found.trivial_error, "mu_blind": found.mu_blind_error}


def errors_of_control(solution: prism.Solution, seed: int) -> dict[str, float]:
    """The largest relative errors at ten typical points, and at x = 0 at three times and three λ; beside them those of
    the mean over λ and of the large-d limit."""
    draw, dimension = np.random.default_rng(seed + 1), solution.family.domain.dimension
    typical = [
        (np.append(draw.standard_normal(dimension), draw.uniform()), float(draw.uniform(0.5, 2.0))) for _ in range(10)
    ]
    origin = [(np.append(np.zeros(dimension), t), lam) for t in (0.0, 0.5, 0.9) for lam in (0.5, 1.0, 2.0)]

    def errors(x: np.ndarray, lam: float) -> list[float]:
        exact, *others = by_sampling(x, np.append(lam, np.linspace(0.5, 2.0, 7)))
        limit = np.log((1.0 + np.sum(x[:-1] ** 2) + 2.0 * (1.0 - x[-1]) * dimension) / 2.0)
        answers = float(solution(jnp.asarray(x, dtype=float), lam=lam)), np.mean(others), limit
        return [float(abs(answer - exact) / abs(exact)) for answer in answers]

    found = {}
    for place, pairs in (("typical", typical), ("origin", origin)):
        names = (place, f"{place}_mu_blind", f"{place}_limit")
        found |= dict(zip(names, np.max([errors(*pair) for pair in pairs], axis=0).tolist(), strict=True))
    return found


PROBLEMS = {"heat": (Heat, errors_of_heat), "control": (Control, errors_of_control)}


def measured(job: dict) -> dict:
    """One solve, and its errors."""
    family, errors = PROBLEMS[job["problem"]]
    inwards, wandering = LAWS[job["law"]]
    space = prism.WholeSpace(job["dim"], inwards=inwards)
    domain = prism.TimeCylinder(space, 1.0, wandering=wandering)
    solution = prism.solve(family(domain), minutes=job["minutes"], seed=job["seed"])
    return {"job": job, **errors(solution, job["seed"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", choices=list(PROBLEMS))
    parser.add_argument("--dims", type=int, nargs="+", default=[50])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--laws", nargs="+", choices=list(LAWS), default=["both"], help="of the points to train on")
    options = parser.parse_args()
    records = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    for dim in options.dims:
        for law in options.laws:
            for seed in options.seeds:
                job = {"problem": options.problem, "dim": dim, "minutes": options.minutes, "law": law, "seed": seed}
                record = measured(job)
                records = [*(other for other in records if other["job"] != job), record]
                write_file(RESULTS, (json.dumps(records, indent=1) + "\n").encode())
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
