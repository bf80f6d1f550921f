"""Blocks of a Jacobian in factors: at any shape what the matrix that they stand for gives."""

import jax
import jax.numpy as jnp
import numpy as np
from helpers import close
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.training.natural.factored import OwnBlock, SharedBlock, SparseBlock, kernel

KINDS = ("shared", "own", "sparse")


class Shape:
    """Sizes of a few blocks that share their samples and the matrix W."""

    def __init__(self, samples: int, rows: int, width: int, vectors: list[int], entries: int, kinds: list[str]):
        self.samples, self.rows, self.width = samples, rows, width
        self.vectors, self.entries, self.kinds = vectors, entries, kinds

    def __repr__(self) -> str:
        return f"Shape({vars(self)})"


shapes = st.builds(
    Shape,
    samples=st.integers(1, 4),
    rows=st.integers(1, 6),
    width=st.integers(1, 3),
    vectors=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    entries=st.integers(1, 3),
    kinds=st.permutations(KINDS),
)


def block_and_rows(kind: str, shape: Shape, vectors: int, random: np.random.Generator):
    """A block with random numbers in it, and its rows Σ_a v ⊗ e written out."""
    cotangents = random.normal(size=(shape.samples, vectors, shape.width))
    if kind == "shared":
        own = random.normal(size=(vectors, shape.rows))
        block = SharedBlock(jnp.asarray(own), jnp.asarray(cotangents))
        own = np.broadcast_to(own, (shape.samples, vectors, shape.rows))
    elif kind == "own":
        own = random.normal(size=(shape.samples, vectors, shape.rows))
        block = OwnBlock(jnp.asarray(own), jnp.asarray(cotangents))
    else:  # the same coordinate may come twice in one vector
        indices = random.integers(0, shape.rows, size=(shape.samples, vectors, shape.entries))
        values = random.normal(size=indices.shape)
        block = SparseBlock(jnp.asarray(indices), jnp.asarray(values), jnp.asarray(cotangents))
        own = np.einsum("nas,nasd->nad", values, np.eye(shape.rows)[indices])
    return block, np.einsum("nad,nah->ndh", own, cotangents)


@jax.jit
def products(blocks, matrix, coefficients):
    """The kernel, and J M and Jᵀc of each block."""
    pushed = [block.push(matrix) for block in blocks]
    return kernel(blocks), pushed, [block.pull(coefficients, matrix.shape[0]) for block in blocks]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(shapes)
def test_blocks_of_any_shape_are_their_matrix(shape):
    random = np.random.default_rng(0)
    sizes = zip(shape.kinds, shape.vectors, strict=True)
    blocks, rows = zip(*[block_and_rows(kind, shape, count, random) for kind, count in sizes], strict=True)
    matrix, coefficients = random.normal(size=(shape.rows, shape.width)), random.normal(size=shape.samples)
    gram, pushed, pulled = products(list(blocks), jnp.asarray(matrix), jnp.asarray(coefficients))
    whole = sum(rows).reshape(shape.samples, -1)
    close(gram, whole @ whole.T)
    for one, there, back in zip(rows, pushed, pulled, strict=True):
        close(there, np.einsum("ndh,dh->n", one, matrix))
        close(back, np.einsum("n,ndh->dh", coefficients, one))


def test_rows_of_zeros_are_samples_that_a_block_does_not_concern():
    random, shape = np.random.default_rng(0), Shape(2, 4, 2, [2, 3, 1], 2, list(KINDS))
    sizes = zip(shape.kinds, shape.vectors, strict=True)
    pairs = [block_and_rows(kind, shape, count, random) for kind, count in sizes]
    longer = [block.extended(1, 2) for block, _ in pairs]
    matrix, coefficients = random.normal(size=(4, 2)), random.normal(size=5)
    gram, pushed, pulled = products(longer, jnp.asarray(matrix), jnp.asarray(coefficients))
    rows = [np.pad(one, ((1, 2), (0, 0), (0, 0))) for _, one in pairs]
    whole = sum(rows).reshape(5, -1)
    close(gram, whole @ whole.T)
    for one, there, back in zip(rows, pushed, pulled, strict=True):
        close(there, np.einsum("ndh,dh->n", one, matrix))
        close(back, np.einsum("n,ndh->dh", coefficients, one))
