"""Bundles of directions say the same as their vectors, sparse, dense or in the span of a lift."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, D, close, decomposed

from prism.derivatives.directions import Dense, Spanned, Sparse, View, along_axes
from prism.derivatives.estimators import Coordinates, Exact, Gram

COORDINATES, WIDTH = D + 1, 3
"""The last coordinate (time) is in no direction."""
RANDOM = np.random.default_rng(0)
LIFT, X = jnp.asarray(RANDOM.normal(size=(COORDINATES, WIDTH))), jnp.linspace(-0.7, 0.9, COORDINATES)
DIAGONAL = np.linspace(0.5, 2.0, D)
MATRICES = {"square": RANDOM.normal(size=(D, D)), "more columns": RANDOM.normal(size=(D, D + 2))}
SPARSE = Sparse(jnp.asarray([[0, 3], [4, 1], [2, 0]]), jnp.asarray([[1.0, -2.0], [0.5, 3.0], [1.0, 1.0]]))


def spanned(lift, point, count: int | None) -> Spanned:
    """Gram's directions where a lift sees the space so."""
    found = decomposed(Gram(count), 2, lift.shape[0], KEY, View(lift, point)).directions
    assert isinstance(found, Spanned)
    return found


DIRECTIONS = {
    "axes": along_axes(jnp.asarray([3, 0]), jnp.ones(2)).directions,
    "sparse": SPARSE,
    "dense": Dense(jnp.asarray(RANDOM.normal(size=(4, D)))),
    "isotropic": decomposed(Exact(), 4, D, KEY).directions,
    "polar": decomposed(Coordinates(3), 4, D, KEY).directions,
    "spanned": spanned(LIFT[:D], X[:D], None),
    "sampled": spanned(LIFT[:D], X[:D], 2),
}
OWN = {name: directions for name, directions in DIRECTIONS.items() if not isinstance(directions, Spanned)}


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_directions_agree_with_their_vectors(directions):
    """With x the point and W the lift that they belong to, where they belong to any."""
    dense, inner, through, norms = jax.jit(
        lambda: (
            directions.dense(COORDINATES),
            directions.inner(X),
            directions.through(LIFT),
            directions.squared_norms(),
        )
    )()
    vectors = np.asarray(dense)
    close(vectors[:, D], np.zeros(len(vectors)))
    close(inner, vectors @ X)
    close(through, vectors @ LIFT)
    close(norms, np.sum(vectors**2, axis=1))


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_the_lift_changes_along_them_as_along_their_vectors(directions):
    """∂(v_j W) = v_j ∂W, also where v_j W itself is zero."""
    change = np.cos(np.arange(LIFT.size)).reshape(LIFT.shape)
    found = jax.jit(lambda: jax.jvp(directions.through, (jnp.asarray(LIFT),), (jnp.asarray(change),))[1])()
    close(found, np.asarray(directions.dense(COORDINATES)) @ change)


@pytest.mark.parametrize("directions", OWN.values(), ids=OWN)
def test_scaled_and_mapped_directions(directions):
    diagonal, matrix = jnp.asarray(np.append(DIAGONAL, 7.0)), jnp.asarray(MATRICES["square"])

    @jax.jit
    def found():
        scaled = directions.scaled(diagonal)
        return (
            directions.dense(D),
            scaled.dense(COORDINATES),
            scaled.squared_norms(),
            directions.mapped(matrix).dense(D),
        )

    vectors, scaled, norms, mapped = map(np.asarray, found())
    close(scaled[:, :D], vectors * DIAGONAL)
    close(norms, np.sum((vectors * DIAGONAL) ** 2, axis=1))
    close(mapped, vectors @ matrix.T)


@pytest.mark.parametrize("count", [None, 2], ids=["whole", "sampled"])
@pytest.mark.parametrize("stretch", [DIAGONAL, *MATRICES.values()], ids=["diagonal", *MATRICES])
def test_stretched_spans_agree_with_their_vectors(stretch, count):
    """But for |v|² of the two that leave the span: with their weights these add up to the rest of Tr(SSᵀ)."""
    matrix = np.diag(stretch) if stretch.ndim == 1 else stretch

    @jax.jit
    def found():
        before = spanned(jnp.asarray(matrix.T) @ LIFT[:D], jnp.asarray(matrix.T) @ X[:D], count)
        after = before.scaled(jnp.asarray(stretch)) if stretch.ndim == 1 else before.mapped(jnp.asarray(stretch))
        own = before.dense(matrix.shape[1]), before.basis(), after.dense(COORDINATES)
        return *own, after.inner(X), after.through(LIFT), after.squared_norms()

    before, basis, vectors, inner, through, norms = map(np.asarray, found())
    close(vectors[:, :D], before @ matrix.T)
    close(inner, vectors @ X)
    close(through, vectors @ LIFT)
    close(norms[:-2], np.sum(vectors**2, axis=1)[:-2])
    rest = np.sum(matrix**2) - np.sum((matrix @ basis) ** 2)
    close(norms[-2] + (matrix.shape[1] - WIDTH - 1) * norms[-1], rest)


def test_the_two_that_leave_the_span_are_unit_vectors_orthogonal_to_the_lift_and_the_last_to_the_point():
    both = np.asarray(DIRECTIONS["spanned"].dense(D)[-2:])
    close(both @ both.T, np.eye(2))
    close(1.0 + both @ LIFT[:D], np.ones((2, WIDTH)))
    close(1.0 + both[1] @ X[:D], 1.0)


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
