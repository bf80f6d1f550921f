"""Bundles of directions say the same as their vectors, sparse, dense or in the span of a lift."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, D, close

from prism.derivatives.directions import Dense, Directions, Spanned, Sparse, View, along_axes
from prism.derivatives.estimators import Coordinates, Exact, Gram

COORDINATES, WIDTH = D + 1, 3
"""The last coordinate (time) is in no direction."""
LIFT, X = jax.random.normal(KEY, (COORDINATES, WIDTH)), jnp.linspace(-0.7, 0.9, COORDINATES)
DIAGONAL = jnp.linspace(0.5, 2.0, D)
MATRICES = {"square": jax.random.normal(KEY, (D, D)), "more columns": jax.random.normal(KEY, (D, D + 2))}
SPARSE = Sparse(jnp.asarray([[0, 3], [4, 1], [2, 0]]), jnp.asarray([[1.0, -2.0], [0.5, 3.0], [1.0, 1.0]]))


def spanned(lift, point, count: int | None) -> Spanned:
    """Gram's directions where a lift sees the space so."""
    found = Gram(count).decompose(2, lift.shape[0], KEY, View(lift, point)).directions
    assert isinstance(found, Spanned)
    return found


DIRECTIONS = {
    "axes": along_axes(jnp.asarray([3, 0]), jnp.ones(2)).directions,
    "sparse": SPARSE,
    "dense": Dense(jax.random.normal(KEY, (4, D))),
    "isotropic": Exact().decompose(4, D, KEY).directions,
    "polar": Coordinates(3).decompose(4, D, KEY).directions,
    "spanned": spanned(LIFT[:D], X[:D], None),
    "sampled": spanned(LIFT[:D], X[:D], 2),
}
OWN = {name: directions for name, directions in DIRECTIONS.items() if not isinstance(directions, Spanned)}


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_directions_agree_with_their_vectors(directions):
    """With x the point and W the lift that they belong to, where they belong to any."""
    vectors = directions.dense(COORDINATES)
    close(vectors[:, D], jnp.zeros(len(vectors)))
    close(directions.inner(X), vectors @ X)
    close(directions.through(LIFT), vectors @ LIFT)
    close(directions.squared_norms(), jnp.sum(vectors**2, axis=1))


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_the_lift_changes_along_them_as_along_their_vectors(directions):
    """∂(v_j W) = v_j ∂W, also where v_j W itself is zero."""
    change = jnp.cos(jnp.arange(LIFT.size)).reshape(LIFT.shape)
    found = jax.jvp(directions.through, (LIFT,), (change,))[1]
    close(found, directions.dense(COORDINATES) @ change)


@pytest.mark.parametrize("directions", OWN.values(), ids=OWN)
def test_scaled_and_mapped_directions(directions):
    vectors = directions.dense(D)
    diagonal, matrix = jnp.append(DIAGONAL, 7.0), MATRICES["square"]
    close(directions.scaled(diagonal).dense(COORDINATES)[:, :D], vectors * DIAGONAL[None])
    close(directions.scaled(diagonal).squared_norms(), jnp.sum((vectors * DIAGONAL[None]) ** 2, axis=1))
    close(directions.mapped(matrix).dense(D), vectors @ matrix.T)


def stretched(stretch, count: int | None) -> tuple[Directions, Spanned]:
    """Gram's directions for Tr(SSᵀD²u), before and after S."""
    transposed = jnp.diag(stretch) if stretch.ndim == 1 else stretch.T
    before = spanned(transposed @ LIFT[:D], transposed @ X[:D], count)
    return before.scaled(stretch) if stretch.ndim == 1 else before.mapped(stretch), before


@pytest.mark.parametrize("count", [None, 2], ids=["whole", "sampled"])
@pytest.mark.parametrize("stretch", [DIAGONAL, *MATRICES.values()], ids=["diagonal", *MATRICES])
def test_stretched_spans_agree_with_their_vectors(stretch, count):
    """But for |v|² of the two that leave the span: with their weights these add up to the rest of Tr(SSᵀ)."""
    directions, before = stretched(stretch, count)
    matrix = jnp.diag(stretch) if stretch.ndim == 1 else stretch
    vectors = directions.dense(COORDINATES)
    close(vectors[:, :D], before.dense(matrix.shape[1]) @ matrix.T)
    close(directions.inner(X), vectors @ X)
    close(directions.through(LIFT), vectors @ LIFT)
    norms, squares = np.asarray(directions.squared_norms()), np.sum(np.asarray(vectors) ** 2, axis=1)
    close(norms[:-2], squares[:-2])
    rest = np.sum(np.asarray(matrix) ** 2) - np.sum(np.asarray(matrix @ before.basis()) ** 2)
    close(norms[-2] + (matrix.shape[1] - WIDTH - 1) * norms[-1], rest)


def test_the_two_that_leave_the_span_are_unit_vectors_orthogonal_to_the_lift_and_the_last_to_the_point():
    e, f = DIRECTIONS["spanned"].dense(D)[-2:]
    gram = jnp.stack([e, f]) @ jnp.stack([e, f]).T
    close(gram, jnp.eye(2))
    close(1.0 + jnp.stack([e, f]) @ LIFT[:D], jnp.ones((2, WIDTH)))
    close(1.0 + f @ X[:D], 1.0)


@pytest.mark.parametrize("point", [jnp.zeros(D), LIFT[:D, 0]], ids=["the origin", "inside the span"])
def test_a_point_that_leaves_no_direction_of_its_own_makes_nothing_infinite(point):
    @jax.jit
    def values(lift, x):
        directions = spanned(lift, x, None)
        whole = directions.dense(D), directions.through(lift), directions.inner(x), directions.squared_norms()
        return jnp.concatenate([jnp.ravel(part) for part in whole])

    by_both = jax.jit(jax.jacfwd(values, (0, 1)))(LIFT[:D], point)
    for found in (values(LIFT[:D], point), *by_both):
        assert jnp.all(jnp.isfinite(found))
