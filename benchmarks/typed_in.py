"""Two equations in time as a new user types them in, from public names alone, and their errors.

    python benchmarks/typed_in.py heat --dim 300 --minutes 3
    python benchmarks/typed_in.py control --dim 50 --minutes 2

heat: u_t = κΔu from exp(−a|x|²/d); its error over x ~ N(0, I), t and μ is printed by `solve`. control: u_t + Δu −
λ|∇u|² = 0 to log((1 + |x|²)/2) at t = 1; at ten typical points and at x = 0 it is compared with −(1/λ) log E
exp(−λ g(x + √(2(1−t)) Z)), the mean over 400,000 draws.
"""

import argparse

import jax.numpy as jnp
import numpy as np

import prism

DRAWS = 400_000


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
    terms = {"t": prism.TimeDerivative(), "lap": prism.Laplacian(), "slope": prism.GradientNormSquared()}

    def residual(self, u, x, mu):
        return u.t + u.lap - mu.lam * u.slope

    def constraint(self):
        terminal = lambda x, mu: jnp.log((1.0 + jnp.sum(x[:-1] ** 2)) / 2.0)
        return prism.HardConstraint(factor=lambda x, mu: 1.0 - x[-1], offset=terminal)


def by_sampling(x: np.ndarray, lam: float) -> float:
    """u of `Control` at (x, t), from draws of |x + √(2(1−t)) Z|²."""
    draw, deviation = np.random.default_rng(0), np.sqrt(2.0 * (1.0 - x[-1]))
    along = np.linalg.norm(x[:-1]) + deviation * draw.standard_normal(DRAWS)
    norms = along**2 + deviation**2 * draw.chisquare(len(x) - 2, DRAWS)
    return float(-np.log(np.mean(((1.0 + norms) / 2.0) ** -lam)) / lam)


def worst_errors(solution: prism.Solution, dimension: int, seed: int) -> tuple[float, float]:
    """The largest relative errors at ten typical points, and at x = 0 at three times and three λ."""
    draw = np.random.default_rng(seed)
    typical = [
        (np.append(draw.standard_normal(dimension), draw.uniform()), float(draw.uniform(0.5, 2.0))) for _ in range(10)
    ]
    origin = [(np.append(np.zeros(dimension), t), lam) for t in (0.0, 0.5, 0.9) for lam in (0.5, 1.0, 2.0)]

    def error(x: np.ndarray, lam: float) -> float:
        exact = by_sampling(x, lam)
        return abs(float(solution(jnp.asarray(x, dtype=float), lam=lam)) - exact) / abs(exact)

    return max(error(*one) for one in typical), max(error(*one) for one in origin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", choices=["heat", "control"])
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    family = {"heat": Heat, "control": Control}[options.problem]
    domain = prism.TimeCylinder(prism.WholeSpace(options.dim), 1.0)
    solution = prism.solve(family(domain), minutes=options.minutes, seed=options.seed)
    if options.problem == "control":
        typical, origin = worst_errors(solution, options.dim, options.seed + 1)
        print(f"largest relative error: {typical:.1e} at ten typical points, {origin:.1e} at x = 0")


if __name__ == "__main__":
    main()
