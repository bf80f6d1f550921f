"""States that need no compilation, families that fail somewhere, and an optimiser that only takes notes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from helpers import KEY, linear

import prism
from prism.derivatives.estimators import Estimator
from prism.networks.model import Model
from prism.objective.batches import Sampling
from prism.objective.rows import Objective
from prism.training.advance import TrainingState
from prism.training.optimisers import Optimiser, StepInfo

SMALL = prism.Architecture(linear(4), width=4, depth=2, generator_width=4, generator_depth=1)


def bare_state(
    family: prism.Family, points: int = 4, optimiser: Optimiser | None = None, estimator: Estimator | None = None
) -> TrainingState:
    """A state without the compilation that calibrating it takes: the network's weights are all 0.1."""
    shapes = eqx.filter_eval_shape(Model.create, SMALL, family.domain, family.parameters, KEY)
    is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    model = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 0.1) if is_shape(leaf) else leaf, shapes, is_leaf=is_shape)
    sampling = Sampling(points, points, crossed=False)
    objective = Objective(family, estimator or prism.Exact(), jnp.ones(()), sampling)
    state = TrainingState.create(model, optimiser or prism.Adam(), objective, KEY)
    return jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, state)  # no array twice


def bits(tree) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def finite(tree) -> bool:
    return all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))


class Fragile(prism.Family):
    """Δu + a u = 1 on a cube, where something is not finite for x₁ beyond `edge`."""

    domain: prism.Cube
    edge: float = eqx.field(static=True)
    parameters = prism.Uniform(a=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def beyond(self, x, value):
        return jnp.where(x[0] > self.edge, value, 0.0)

    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value - 1.0 + self.beyond(x, jnp.nan)


class FragileSource(Fragile):
    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value - self.source(x, mu)

    def source(self, x, mu):
        return 1.0 + self.beyond(x, jnp.inf)


class FragileTerm(Fragile):
    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value - 1.0

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: 1.0 + self.beyond(x, jnp.inf) * x[1] ** 2)


class FragileGradient(Fragile):
    def residual(self, u, x, mu):
        root = jnp.sqrt(jnp.maximum(0.0, u.value - u.value))
        return u.lap + mu.a * u.value - 1.0 + self.beyond(x, 1.0) * root


class Steep(prism.Family):
    """Δu = 1, where u bends along x₁ so much that its second derivative there, and there alone, is not finite."""

    domain: prism.Cube
    parameters = prism.Uniform(a=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return 1e-300 * u.lap * mu.a - 1.0

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: 1.0 + 1e306 * (30.0 * (x[0] - 0.5)) ** 2)


class Recorder(Optimiser):
    """Remembers the decay of every step; those that `fails` names are not finite and would break the model."""

    rate = 1.0
    length: int = eqx.field(static=True)
    fails: frozenset[int] = eqx.field(static=True, default=frozenset())

    def init(self, model):
        return jnp.zeros((), jnp.int32), jnp.full(self.length, jnp.nan)

    def step(self, objective, model, state, batch, decay):
        count, decays = state
        failed = jnp.isin(count, jnp.asarray(sorted(self.fails) or [-1]))
        scale = jnp.where(failed, jnp.nan, 1.0)
        broken = jax.tree.map(lambda leaf: leaf * scale if eqx.is_inexact_array(leaf) else leaf, model)
        after = count + 1, decays.at[count].set(decay)
        return broken, after, StepInfo(jnp.where(failed, jnp.nan, 2.0), ~failed)


def recorded_state(recorder: Recorder) -> TrainingState:
    return bare_state(Fragile(prism.Cube(2), 0.5), optimiser=recorder)
