"""A block of a Jacobian by a large matrix W, factored: its N × (d·h) matrix is never formed.

A residual sees W through x W and v_j W alone, so its row is a sum of a few outer products

    ∂r_n/∂W = Σ_a v_{na} ⊗ e_{na},      v: the point and the directions,   e: the gradients by x W and v_j W,

and the kernel needs only the inner products of the v's (d-sized, one matrix product) and of the e's (h-sized):

    K_nm = Σ_ab (v_{na}·v_{mb}) (e_{na}·e_{mb}).
"""

import abc
import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Weight = Float[Array, "d width"]
Kernel = Float[Array, "N N"]


class Block(eqx.Module):
    """Rows Σ_a v_{na} ⊗ e_{na}, n = 1 ... N."""

    cotangents: eqx.AbstractVar[Float[Array, "N a width"]]

    @abc.abstractmethod
    def push(self, matrix: Weight) -> Float[Array, "N"]:
        """J M: the inner product of each row with a matrix."""

    @abc.abstractmethod
    def pull(self, coefficients: Float[Array, "N"], rows: int) -> Weight:
        """Jᵀ c for a W of so many rows."""

    @abc.abstractmethod
    def onto(self, shared: "SharedBlock") -> Float[Array, "N b width"]:
        """Σ_a (v_{na}·s_b) e_{na}."""

    def extended(self, before: int, after: int) -> "Block":
        """With rows of zeros before and after: samples that the block does not concern."""
        padded = lambda array: jnp.pad(array, ((before, after), *[(0, 0)] * (array.ndim - 1)))
        own = {name: padded(value) for name, value in vars(self).items() if not self._is_shared(name)}
        return dataclasses.replace(self, **own)

    def _is_shared(self, name: str) -> bool:
        return False


class SharedBlock(Block):
    """Directions that all samples share."""

    vectors: Float[Array, "a d"]
    cotangents: Float[Array, "N a width"]

    def _is_shared(self, name: str) -> bool:
        return name == "vectors"

    def push(self, matrix: Weight) -> Float[Array, "N"]:
        return jnp.einsum("ah,nah->n", self.vectors @ matrix, self.cotangents)

    def pull(self, coefficients: Float[Array, "N"], rows: int) -> Weight:
        return self.vectors.T @ jnp.einsum("n,nah->ah", coefficients, self.cotangents)

    def onto(self, shared: "SharedBlock") -> Float[Array, "N b width"]:
        return jnp.einsum("ab,nah->nbh", self.vectors @ shared.vectors.T, self.cotangents)


class OwnBlock(Block):
    """Each sample's own vectors, dense: the points among them."""

    vectors: Float[Array, "N a d"]
    cotangents: Float[Array, "N a width"]

    def push(self, matrix: Weight) -> Float[Array, "N"]:
        return jnp.sum((self.vectors @ matrix) * self.cotangents, axis=(1, 2))

    def pull(self, coefficients: Float[Array, "N"], rows: int) -> Weight:
        weighted = coefficients[:, None, None] * self.cotangents
        return _flat(self.vectors).T @ _flat(weighted)

    def onto(self, shared: SharedBlock) -> Float[Array, "N b width"]:
        return jnp.einsum("nab,nah->nbh", self.vectors @ shared.vectors.T, self.cotangents)


class SparseBlock(Block):
    """Each sample's own sparse vectors Σ_s values e_indices."""

    indices: Int[Array, "N a s"]
    values: Float[Array, "N a s"]
    cotangents: Float[Array, "N a width"]

    def push(self, matrix: Weight) -> Float[Array, "N"]:
        return jnp.einsum("nas,nash,nah->n", self.values, matrix[self.indices], self.cotangents)

    def pull(self, coefficients: Float[Array, "N"], rows: int) -> Weight:
        weighted = coefficients[:, None, None] * self.cotangents
        entries = self.values[..., None] * weighted[:, :, None]
        zero = jnp.zeros((rows, entries.shape[-1]), entries.dtype)
        return zero.at[self.indices].add(entries)

    def onto(self, shared: SharedBlock) -> Float[Array, "N b width"]:
        coefficients = jnp.einsum("nas,bnas->nab", self.values, shared.vectors[:, self.indices])
        return jnp.einsum("nab,nah->nbh", coefficients, self.cotangents)


def kernel(blocks: Sequence[Block]) -> Kernel:
    """J Jᵀ of the lift's block."""
    total = 0.0
    for number, first in enumerate(blocks):
        for second in blocks[:number]:
            cross = _pair(first, second)
            total = total + cross + cross.T
        total = total + _pair(first, first)
    return jnp.asarray(total)


def _pair(first: Block, second: Block) -> Kernel:
    """Σ_ab (v_{na}·w_{mb}) (e_{na}·f_{mb})."""
    if isinstance(first, SharedBlock) and not isinstance(second, SharedBlock):
        return _pair(second, first).T
    if isinstance(second, SharedBlock):
        return _by_sample(first.onto(second)) @ _by_sample(second.cotangents).T
    if isinstance(first, SparseBlock) and isinstance(second, OwnBlock):
        return _pair(second, first).T
    if isinstance(first, OwnBlock):
        products = jnp.einsum("nah,mbh->namb", first.cotangents, second.cotangents)
        return jnp.sum(_dense_products(first, second) * products, axis=(1, 3))
    return _sparse_pair(first, second)


def _dense_products(first: OwnBlock, second: Block) -> Float[Array, "N a M b"]:
    count, own, _ = first.vectors.shape
    if isinstance(second, OwnBlock):
        products = _flat(first.vectors) @ _flat(second.vectors).T
        return products.reshape(count, own, *second.vectors.shape[:2])
    assert isinstance(second, SparseBlock)
    return jnp.einsum("mbs,nambs->namb", second.values, first.vectors[:, :, second.indices])


def _sparse_pair(first: Block, second: Block) -> Kernel:
    """One row of the kernel at a time: coordinates that coincide are few, but which is not known beforehand."""
    assert isinstance(first, SparseBlock)
    assert isinstance(second, SparseBlock)

    def row(one: tuple[Array, Array, Array]) -> Float[Array, "M"]:
        indices, values, cotangents = one
        same = (indices[:, :, None, None, None] == second.indices[None, None]).astype(values.dtype)
        products = jnp.einsum("as,asmbt,mbt->amb", values, same, second.values)
        return jnp.einsum("amb,ah,mbh->m", products, cotangents, second.cotangents)

    return jax.lax.map(row, (first.indices, first.values, first.cotangents))


def _flat(array: Float[Array, "N a k"]) -> Float[Array, "Na k"]:
    return array.reshape(array.shape[0] * array.shape[1], array.shape[2])


def _by_sample(array: Float[Array, "N a k"]) -> Float[Array, "N ak"]:
    return array.reshape(array.shape[0], array.shape[1] * array.shape[2])
