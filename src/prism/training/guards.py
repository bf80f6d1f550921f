"""What failed, by name: the first quantity of a failing step that is not finite, in the order of the pipeline."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from prism.training.advance import TrainingState
from prism.training.optimisers import Optimiser


def first_non_finite(state: TrainingState, optimiser: Optimiser) -> str:
    """A sentence that names what is not finite at the state's next batch."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(state.model, eqx.is_array)):
        if not _finite(leaf):
            return f"the weight {jax.tree_util.keystr(path).lstrip('.')} of the network is not finite"
    batch = state.next_batch(optimiser)
    return state.objective.first_failure(state.model, batch) or _gradient_failure(state, batch)


def _gradient_failure(state: TrainingState, batch: Any) -> str:
    gradient = eqx.filter_jit(eqx.filter_grad(lambda m: state.objective.loss(m, batch)))(state.model)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        if not _finite(leaf):
            return f"the gradient of the loss in {jax.tree_util.keystr(path).lstrip('.')} is not finite"
    return "the step itself is not finite, though the loss and its gradient are; lower the rate"


def _finite(values) -> bool:
    return bool(np.all(np.isfinite(np.asarray(jnp.asarray(values)))))
