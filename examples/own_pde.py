"""A family of PDEs of your own: screened Poisson, Δu − λu = f, with two parameters.

    python examples/own_pde.py

Its solution here is u = (1 − |x|²) sin(κ Σ_i x_i + 1), so that the error can be measured; leave `exact` out where you
have none. Runs in under a minute.
"""

import jax
import jax.numpy as jnp

import prism


class ScreenedPoisson(prism.Family):
    """Δu − λu = f(x; κ, λ) in the unit ball, u = 0 on its surface."""

    domain: prism.Ball
    parameters = prism.Uniform(kappa=(0.5, 1.5), lam=(0.0, 5.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - mu.lam * u.value - self.source(x, mu)

    def source(self, x, mu):
        """f = Δu − λu with S = sin(κ Σx + 1): Δ((1−|x|²)S) = (1−|x|²)ΔS − 4 x·∇S − 2d S."""
        d, phase = x.shape[0], mu.kappa * jnp.sum(x) + 1.0
        factor, wave = 1.0 - jnp.sum(x * x), jnp.sin(phase)
        laplacian = -factor * mu.kappa**2 * d * wave - 4.0 * mu.kappa * jnp.sum(x) * jnp.cos(phase) - 2.0 * d * wave
        return laplacian - mu.lam * factor * wave

    def constraint(self):
        return prism.vanishing(self.domain)

    def exact(self, x, mu):
        return (1.0 - jnp.sum(x * x)) * jnp.sin(mu.kappa * jnp.sum(x) + 1.0)


def main(minutes: float = 0.5) -> None:
    family = ScreenedPoisson(prism.Ball(200))
    solution = prism.solve(family, minutes=minutes)

    points = jax.vmap(family.domain.sample)(jax.random.split(jax.random.key(1), 5))
    print("\n   u predicted   u exact       at kappa = 0.7, lam = 2")
    predicted = solution(points, kappa=0.7, lam=2.0)
    mu = family.parameters.named(family.parameters.array(kappa=0.7, lam=2.0))
    for value, x in zip(predicted, points, strict=True):
        print(f"  {value:12.6f}  {family.exact(x, mu):12.6f}")
    for line in solution.evaluate().describe():
        print(line)


if __name__ == "__main__":
    main()
