"""Copy this file, fill in the five places marked, and run it."""

import jax.numpy as jnp

import prism


class MyFamily(prism.Family):
    """1. Your equation, as you would write it on paper."""

    domain: prism.Ball  # 2. prism.Ball, Cube, WholeSpace, or TimeCylinder around one of them
    parameters = prism.Uniform(mu1=(0.5, 1.5))  # 3. names and bounds; prism.LogUniform over orders of magnitude
    terms = {"lap": prism.Laplacian()}  # 4. the derivatives that the residual reads, as u.<name>

    def residual(self, u, x, mu):
        """5. Zero where u solves the equation, at one point x (an array of the coordinates) and one μ."""
        return u.lap + mu.mu1 * u.value - jnp.sum(x * x)

    def constraint(self):
        """What u satisfies by its form; without this method u is free."""
        return prism.vanishing(self.domain)


if __name__ == "__main__":
    solution = prism.solve(MyFamily(prism.Ball(100)), minutes=0.3)
    print("u(0; mu1 = 1) =", solution(jnp.zeros(100), mu1=1.0))
