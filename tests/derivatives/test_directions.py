"""Bundles of directions say the same as their vectors, sparse, dense or in the span of a lift."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, D, close, decomposed, mostly_slow

from prism.derivatives.directions import Dense, Gradients, Sparse, View, along_axes
from prism.derivatives.estimators import Coordinates, Exact, Gram
from prism.derivatives.spans import Spanned

COORDINATES, WIDTH = D + 1, 3
"""The last coordinate (time) is in no direction."""
RANDOM = np.random.default_rng(0)
LIFT, X = jnp.asarray(RANDOM.normal(size=(COORDINATES, WIDTH))), jnp.linspace(-0.7, 0.9, COORDINATES)
DIAGONAL = np.linspace(0.5, 2.0, D)
MATRICES = {"square": RANDOM.normal(size=(D, D)), "more columns": RANDOM.normal(size=(D, D + 2))}
SPARSE = Sparse(jnp.asarray([[0, 3], [4, 1], [2, 0]]), jnp.asarray([[1.0, -2.0], [0.5, 3.0], [1.0, 1.0]]))


def spanned(lift, point, count: int | None, own: int = 0) -> Spanned:
    """Gram's directions where a lift sees the space so; its last `own` channels have gradients of their own here."""
    view = View(Gradients(lift[:, : WIDTH - own], lift[:, WIDTH - own :]), point)
    found = decomposed(Gram(count), 2, lift.shape[0], KEY, view).directions
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
    "spanned beside others": spanned(LIFT[:D], X[:D], None, 2),
    "sampled from others alone": spanned(LIFT[:D], X[:D], 2, 3),
}
OWN = {name: directions for name, directions in DIRECTIONS.items() if not isinstance(directions, Spanned)}


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_directions_agree_with_their_vectors(directions):
    """With x the point and W the lift that they belong to, where they belong to any."""
    dense, inner, through, norms, weighted = jax.jit(
        lambda: (
            directions.dense(COORDINATES),
            directions.inner(X),
            directions.through(LIFT),
            directions.squared_norms(),
            directions.weighted_squares(X),
        )
    )()
    vectors = np.asarray(dense)
    close(vectors[:, D], np.zeros(len(vectors)))
    close(inner, vectors @ X)
    close(through, vectors @ LIFT)
    close(norms, np.sum(vectors**2, axis=1))
    close(weighted, vectors**2 @ X)


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


@pytest.mark.parametrize(("count", "own"), [(None, 0), (2, 0), (None, 2)], ids=["whole", "sampled", "beside others"])
@pytest.mark.parametrize("stretch", mostly_slow({"diagonal": DIAGONAL, **MATRICES}, "diagonal", "more columns"))
def test_stretched_spans_agree_with_their_vectors(stretch, count, own):
    """But for |v|² of the two that leave the span: with their weights these add up to the rest of Tr(SSᵀ)."""
    matrix = np.diag(stretch) if stretch.ndim == 1 else stretch

    @jax.jit
    def found():
        before = spanned(jnp.asarray(matrix.T) @ LIFT[:D], jnp.asarray(matrix.T) @ X[:D], count, own)
        after = before.scaled(jnp.asarray(stretch)) if stretch.ndim == 1 else before.mapped(jnp.asarray(stretch))
        vectors = before.dense(matrix.shape[1]), before.basis(), after.dense(COORDINATES)
        return *vectors, after.inner(X), after.through(LIFT), after.squared_norms()

    before, basis, vectors, inner, through, norms = map(np.asarray, found())
    close(vectors[:, :D], before @ matrix.T)
    close(inner, vectors @ X)
    close(through, vectors @ LIFT)
    close(norms[:-2], np.sum(vectors**2, axis=1)[:-2])
    rest = np.sum(matrix**2) - np.sum((matrix @ basis) ** 2)
    close(norms[-2] + (matrix.shape[1] - WIDTH - 1) * norms[-1], rest)


def test_what_directions_stand_for_in_a_weighted_trace():
    """Their own vectors, with weights; those of a span the whole of space, stretched or not."""
    weights, space = jnp.asarray([2.0, 0.5, -1.0]), X[:D]
    close(SPARSE.weighted_trace(weights, X), weights @ (SPARSE.dense(COORDINATES) ** 2 @ X))
    for stretch in (np.ones(D), DIAGONAL, *MATRICES.values()):
        matrix = np.diag(stretch) if stretch.ndim == 1 else stretch
        close(stretched(stretch).weighted_trace(weights, X), space @ np.diag(matrix @ matrix.T))


def stretched(stretch) -> Spanned:
    """All of space, mapped."""
    matrix = jnp.asarray(np.diag(stretch) if stretch.ndim == 1 else stretch)
    before = spanned(matrix.T @ LIFT[:D], matrix.T @ X[:D], None)
    found = before.scaled(jnp.asarray(stretch)) if stretch.ndim == 1 else before.mapped(matrix)
    assert isinstance(found, Spanned)
    return found


def test_what_a_span_stands_for_within_groups_of_coordinates():
    """Directions with Σ u⊗u the block of SSᵀ there; other bundles say that themselves."""
    places = np.asarray([[0, 1], [3, 2], [1, 4]])
    assert all(directions.local(jnp.asarray(places)) is None for directions in OWN.values())
    for stretch in (None, DIAGONAL, *MATRICES.values()):
        whole = DIRECTIONS["spanned"] if stretch is None else stretched(stretch)
        matrix = np.eye(D) if stretch is None else np.diag(stretch) if stretch.ndim == 1 else stretch
        found = np.asarray(whole.local(jnp.asarray(places)))
        for number, place in enumerate(places):
            within = found[:, min(number, found.shape[1] - 1)]  # one for all where they are the same everywhere
            close(within.T @ within, (matrix @ matrix.T)[np.ix_(place, place)])


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
