"""The derivatives of N residuals by the weights, in the form that suits each block of these.

    plain    everything else: rows are written out, N × P
    heads    γ = 1 + e H and β = e H':  ∂r_n/∂[H H'] = e(μ_n) ⊗ g_n  with  g = ∂r/∂[γ β]
    lift     z = x W + b:               ∂r_n/∂W = Σ_a v_na ⊗ e_na

The last two are never written out; the heads would be half of the columns. Weights of the lift's groups that
follow the residual's slopes (`slope_steps.py`) have no rows at all.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.networks.model import Model
from prism.shapes import Hidden, Scalar
from prism.training.natural.factored import Block, OwnBlock, kernel

Heads = Float[Array, "embedding outputs"]
LiftMatrix = Float[Array, "coordinates width"]


class Weights(eqx.Module):
    """The weights of a model, or a change of them, block by block; a lift of no rows where it is left out."""

    plain: Float[Array, "P"]
    heads: Heads
    lift: LiftMatrix
    followers: tuple[Array, ...] = ()
    """Weights of the lift's groups that follow the residual's slopes; none where they are left out."""

    @staticmethod
    def of(model: Model) -> "Weights":
        none = jnp.zeros((model.generator.weights[-1].shape[1], 0), model.lift.weight.dtype)
        heads = jnp.concatenate([none, *model.generator.heads], axis=1)
        followers = tuple(slope_followers(model)(model))
        return Weights(ravel_pytree(plain_arrays(model))[0], heads, model.lift.weight, followers)

    def without_followers(self) -> "Weights":
        return Weights(self.plain, self.heads, self.lift)

    def without_lift(self) -> "Weights":
        return Weights(self.plain, self.heads, self.lift[:0])

    def put(self, model: Model) -> Model:
        """The model with these weights."""
        count, unravel = len(model.generator.heads), ravel_pytree(plain_arrays(model))[1]
        heads = jnp.split(self.heads, count, axis=1) if count else []
        whole = _with_heads(eqx.combine(unravel(self.plain), model), heads)
        followers = slope_followers(model)
        return eqx.tree_at(lambda m: (m.lift.weight, *followers(m)), whole, (self.lift, *self.followers))

    def norm(self) -> Scalar:
        """The length of everything but the lift's matrix and those that follow slopes."""
        return jnp.sqrt(jnp.sum(self.plain**2) + jnp.sum(self.heads**2))

    def lift_norm(self) -> Scalar:
        """The length of the rest."""
        return jnp.sqrt(sum((jnp.sum(part**2) for part in self.followers), start=jnp.sum(self.lift**2)))


class Jacobian(eqx.Module):
    """Rows ∂r_n/∂θ; of the lift there may be none."""

    plain: Float[Array, "M P"]
    heads: list[Block]
    lift: list[Block]

    def without_lift(self) -> "Jacobian":
        return Jacobian(self.plain, self.heads, [])

    def kernel(self) -> Float[Array, "M M"]:
        """J Jᵀ."""
        blocks = [kernel(part) for part in (self.heads, self.lift) if part]
        return self.plain @ self.plain.T + sum(blocks, start=0.0)

    def push(self, change: Weights) -> Float[Array, "M"]:
        """J δ."""
        return self.plain @ change.plain + _pushed(self.heads, change.heads) + _pushed(self.lift, change.lift)

    def pull(self, coefficients: Float[Array, "M"], like: Weights) -> Weights:
        """Jᵀ c, of the shape of these weights."""
        back = lambda blocks, matrix: sum(
            (block.pull(coefficients, matrix.shape[0]) for block in blocks), start=jnp.zeros_like(matrix)
        )
        return Weights(self.plain.T @ coefficients, back(self.heads, like.heads), back(self.lift, like.lift))

    def above(self, below: "Jacobian") -> "Jacobian":
        """Both, one above the other."""
        first, second = len(self.plain), len(below.plain)
        stack = lambda upper, lower: [
            *[block.extended(0, second) for block in upper],
            *[block.extended(first, 0) for block in lower],
        ]
        plain = jnp.concatenate([self.plain, below.plain])
        return Jacobian(plain, stack(self.heads, below.heads), stack(self.lift, below.lift))


def _pushed(blocks: list[Block], matrix: Float[Array, "rows columns"]) -> Float[Array, "M"] | float:
    return sum((block.push(matrix) for block in blocks), start=0.0)


class Probed(eqx.Module):
    """A head H to whose answer e H a vector is added: the gradient by that vector is g."""

    head: Float[Array, "embedding outputs"]
    added: Float[Array, "outputs"]

    def __rmatmul__(self, embedding: Hidden) -> Array:
        return embedding @ self.head + self.added


def slope_followers(model: Model) -> Callable[[Model], list[Any]]:
    """Where a model has the weights of its lift's groups that follow the residual's slopes, group by group."""
    names = [(number, name) for number, group in enumerate(model.lift.groups) for name in group.by_slopes]
    return lambda m: [getattr(m.lift.groups[number], name) for number, name in names]


def plain_arrays(model: Model) -> Model:
    """The arrays but for the lift's matrix, what follows slopes, the heads, and what is not trained: those whose rows
    are written out."""
    arrays = eqx.filter(model, eqx.is_array)
    followers = slope_followers(model)
    others = lambda m: (m.lift.weight, *followers(m), *m.generator.heads, m.level, m.amplitude)
    return eqx.tree_at(others, arrays, replace_fn=lambda _: None)


def probed(model: Model, arrays: Model, added: Sequence[Array]) -> Model:
    """The model with these arrays, and vectors added to the answers of its heads."""
    with_vectors = [Probed(head, vector) for head, vector in zip(model.generator.heads, added, strict=True)]
    return _with_heads(eqx.combine(arrays, model), with_vectors)


def head_probes(model: Model) -> list[Array]:
    """Zeros, of the shape of each head's answer: where its gradients are taken."""
    return [jnp.zeros_like(head[0]) for head in model.generator.heads]


def head_blocks(model: Model, parameters: Float[Array, "N p"], gradients: Sequence[Float[Array, "N _"]]) -> list[Block]:
    """The rows e(μ_n) ⊗ g_n, from the gradients g by the heads' answers."""
    if not gradients:
        return []
    embeddings = jax.vmap(lambda mu: model.generator.embed(model.parameters.standardise(mu)))(parameters)
    return [OwnBlock(embeddings[:, None], jnp.concatenate(gradients, axis=1)[:, None])]


def _with_heads(model: Model, heads: Sequence[Any]) -> Model:
    return eqx.tree_at(lambda m: m.generator.heads, model, tuple(heads)) if heads else model
