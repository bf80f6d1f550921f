"""What failed, by name: the first quantity of a failing step that is not finite, in the order of the pipeline."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from prism.residuals import derivatives
from prism.training.advance import TrainingState


def first_non_finite(state: TrainingState) -> str:
    """A sentence that names what is not finite at the state's next batch."""
    objective, model = state.objective, state.model
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_array)):
        if not _finite(leaf):
            return f"the weight {jax.tree_util.keystr(path).lstrip('.')} of the network is not finite"
    key = jax.random.fold_in(jax.random.wrap_key_data(state.seed), state.step)
    batch = objective.draw(key)
    family = objective.family
    for number in range(batch.points.shape[0]):
        x, mu = batch.points[number], batch.parameters[number % batch.parameters.shape[0]]
        named = family.parameters.named(mu)
        where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(family.parameters.names, mu, strict=True))
        u = derivatives(model, family, objective.estimator, x, mu, batch.key)
        for name, value in vars(u).items():
            if not _finite(value):
                return f"u.{name} is not finite at {where}"
        source = getattr(family, "source", None)
        if source is not None and not _finite(source(x, named)):
            return f"the source of {type(family).__name__} is not finite at {where}"
        if not _finite(family.residual(u, x, named)):
            return f"the residual of {type(family).__name__} is not finite at {where}, though u and its terms are"
    return _gradient_failure(state, batch)


def _gradient_failure(state: TrainingState, batch) -> str:
    gradient = eqx.filter_grad(lambda m: state.objective.loss(m, batch))(state.model)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        if not _finite(leaf):
            return f"the gradient of the loss in {jax.tree_util.keystr(path).lstrip('.')} is not finite"
    return "a loss or gradient is not finite in some steps only; lower the rate"


def _finite(values) -> bool:
    return bool(np.all(np.isfinite(np.asarray(jnp.asarray(values)))))
