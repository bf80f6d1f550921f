"""One problem, four ways to take its Laplacian: error and time after the same number of steps.

    python examples/estimators.py

`Exact` takes all 100 directions, the others 8 random ones. How noisy these are depends on the Hessian of u: random
coordinates see its diagonal, random signs all the rest. Runs in about a minute, most of it compilation.
"""

import time

import jax.numpy as jnp

import prism


class Ridge(prism.Family):
    """Δu = f in the unit ball, u = 0 on its surface; u = (1 − |x|²) sin(κ Σ_i x_i + 1)."""

    domain: prism.Ball
    parameters = prism.Uniform(kappa=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - self.source(x, mu)

    def source(self, x, mu):
        """Δ((1−|x|²)S) = (1−|x|²)ΔS − 4 x·∇S − 2d S with S = sin(κ Σx + 1)."""
        d, total = x.shape[0], jnp.sum(x)
        sine, cosine = jnp.sin(mu.kappa * total + 1.0), jnp.cos(mu.kappa * total + 1.0)
        factor = 1.0 - jnp.sum(x * x)
        return -factor * mu.kappa**2 * d * sine - 4.0 * mu.kappa * total * cosine - 2.0 * d * sine

    def constraint(self):
        return prism.vanishing(self.domain)

    def exact(self, x, mu):
        return (1.0 - jnp.sum(x * x)) * jnp.sin(mu.kappa * jnp.sum(x) + 1.0)


def main(steps: int = 500) -> None:
    family = Ridge(prism.Ball(100))
    small = prism.Architecture(prism.Dense(32) + prism.Affine(4), width=32, depth=2)
    print("estimator                 relative L2    skill   seconds, with compilation")
    for estimator in (prism.Exact(), prism.Coordinates(8), prism.Rademacher(8), prism.Gaussian(8)):
        begun = time.perf_counter()
        solution = prism.solve(
            family, steps=steps, estimator=estimator, optimiser=prism.Adam(), architecture=small, progress=False
        )
        seconds, errors = time.perf_counter() - begun, solution.evaluate(points=2_000)
        print(f"{estimator!s:24}  {errors.relative_l2:10.2e}  {errors.skill:7.3g}  {seconds:8.1f}", flush=True)


if __name__ == "__main__":
    main()
