"""What of a batch is not finite, by name, in the order of the pipeline."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.networks.model import Model
from prism.objective.batches import Batch, Pair
from prism.objective.residuals import network_derivatives
from prism.problem.family import Family


def first_failure(model: Model, family: Family, batch: Batch) -> str | None:
    """A sentence that names the first quantity that is not finite at a pair of the batch; None where all are."""
    found, parameters = _quantities(model, family, batch)
    for number, mu in enumerate(np.asarray(parameters)):
        names = zip(family.parameters.names, mu, strict=True)
        where = ", ".join(f"{name} = {value:.4g}" for name, value in names)
        for sentence, values in found.items():
            if not np.isfinite(values[number]):
                return sentence.format(where=where)
    return None


def _quantities(model: Model, family: Family, batch: Batch) -> tuple[dict[str, np.ndarray], Array]:
    """Every quantity at every pair of the batch, under the sentence that tells of it, in the order of the pipeline."""
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
