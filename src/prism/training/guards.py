"""What failed, by name: the first quantity of a failing step that is not finite, in the order of the pipeline."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.networks.model import Model
from prism.objective.batches import Batch, Pair
from prism.objective.residuals import network_derivatives
from prism.objective.rows import Objective
from prism.training.advance import TrainingState
from prism.training.optimisers import Optimiser


def first_non_finite(state: TrainingState, optimiser: Optimiser) -> str:
    """A sentence that names what is not finite at the state's next batch."""
    objective, model = state.objective, state.model
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_array)):
        if not _finite(leaf):
            return f"the weight {jax.tree_util.keystr(path).lstrip('.')} of the network is not finite"
    batch = state.next_batch(optimiser)
    found, parameters = _quantities(model, objective, batch)
    for number, mu in enumerate(np.asarray(parameters)):
        names = zip(objective.family.parameters.names, mu, strict=True)
        where = ", ".join(f"{name} = {value:.4g}" for name, value in names)
        for sentence, values in found.items():
            if not np.isfinite(values[number]):
                return sentence.format(where=where)
    return _gradient_failure(state, batch)


def _quantities(model: Model, objective: Objective, batch: Batch) -> tuple[dict[str, np.ndarray], Array]:
    """Every quantity at every pair of the batch, under the sentence that tells of it, in the order of the pipeline."""
    family = objective.family
    kind, source = type(family).__name__, getattr(family, "source", None)
    pairs = batch.pairs()
    sentences: list[str] = []

    def one(pair: Pair) -> tuple[Array, ...]:
        x, named = pair.x, family.parameters.named(pair.mu)
        u = network_derivatives(model, family, pair.draws, x, pair.mu)
        values = {f"u.{name} is not finite at {{where}}": value for name, value in vars(u).items()}
        if source is not None:
            values[f"the source of {kind} is not finite at {{where}}"] = source(x, named)
        r = family.residual(u, x, named)
        values[f"the residual of {kind} is not finite at {{where}}, though u and its terms are"] = r
        sentences[:] = values
        return tuple(map(jnp.asarray, values.values()))

    found = jax.jit(lambda: pairs.vmap(one))()
    return {sentence: np.asarray(values) for sentence, values in zip(sentences, found, strict=True)}, pairs.parameters


def _gradient_failure(state: TrainingState, batch: Batch) -> str:
    gradient = eqx.filter_jit(eqx.filter_grad(lambda m: state.objective.loss(m, batch)))(state.model)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        if not _finite(leaf):
            return f"the gradient of the loss in {jax.tree_util.keystr(path).lstrip('.')} is not finite"
    return "the step itself is not finite, though the loss and its gradient are; lower the rate"


def _finite(values) -> bool:
    return bool(np.all(np.isfinite(np.asarray(jnp.asarray(values)))))
