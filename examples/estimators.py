"""One operator, four estimators: mean, spread and cost of the Laplacian of a random network in 1,000 dimensions.

python examples/estimators.py
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp

import prism
from prism.networks.model import Model
from prism.objective.residuals import derivatives


class JustTheLaplacian(prism.Family):
    """u.lap of the bare network."""

    domain: prism.Ball
    parameters = prism.Uniform(mu1=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return mu.mu1 * u.lap


def main(draws: int = 400) -> None:
    family = JustTheLaplacian(prism.Ball(1000))
    key = jax.random.key(0)
    model = Model.create(prism.Architecture(), family.domain, family.parameters, key)
    x, mu = family.domain.sample(key), family.parameters.sample(key)

    @eqx.filter_jit
    def laplacians(estimator: prism.Estimator, keys):
        return jax.vmap(lambda k: derivatives(model, family, estimator, x, mu, k).lap)(keys)

    print("estimator                  mean       deviation of one draw   microseconds a draw")
    for estimator in (prism.Exact(), prism.Coordinates(16), prism.Rademacher(16), prism.Gaussian(16)):
        keys = jax.random.split(key, 1 if isinstance(estimator, prism.Exact) else draws)
        jax.block_until_ready(laplacians(estimator, keys))
        begun = time.perf_counter()
        values = jax.block_until_ready(laplacians(estimator, keys))
        cost = (time.perf_counter() - begun) / len(keys) * 1e6
        print(f"{estimator!s:25} {jnp.mean(values):10.4f} {jnp.std(values):14.4f} {cost:22.1f}")


if __name__ == "__main__":
    main()
