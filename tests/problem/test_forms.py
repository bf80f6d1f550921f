"""Quadratic forms: value, gradient and trace are those of their matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, decomposed

from prism.derivatives.estimators import Exact, Gaussian
from prism.problem.forms import QuadraticForm, squared_norm

DIAGONAL, NEIGHBOURS = jnp.asarray([0.5, 2.0, 1.0, -0.3]), jnp.asarray([0.7, -1.0, 0.4])
MATRIX = jnp.diag(DIAGONAL) + jnp.diag(NEIGHBOURS / 2, 1) + jnp.diag(NEIGHBOURS / 2, -1)
FORMS = {"form": (QuadraticForm(DIAGONAL, NEIGHBOURS), MATRIX), "norm": (squared_norm(4), jnp.eye(4))}
X = jax.random.normal(KEY, (5,))


@pytest.mark.parametrize(("form", "matrix"), FORMS.values(), ids=FORMS)
def test_a_form_is_its_matrix(form, matrix):
    """Of the first four of five coordinates; the last is time."""
    close(form(X), X[:4] @ matrix @ X[:4])
    close(form.gradient(X), jnp.append(2.0 * matrix @ X[:4], 0.0))
    for estimator in (Exact(), Gaussian(3)):
        found = decomposed(estimator, 2, 4, KEY)
        vectors = found.directions.dense(4)
        close(form.firsts(X, found.directions), vectors @ (2.0 * matrix @ X[:4]))
        seconds = jnp.einsum("ni,ij,nj->n", vectors, matrix, vectors)
        close(form.seconds(found.directions, 5), seconds)
        close(form.trace(found.directions, found.weights, 5), found.weights @ seconds)


def test_all_directions_trace_the_matrix():
    found = decomposed(Exact(), 2, 4, KEY)
    form, matrix = FORMS["form"]
    close(np.asarray(form.trace(found.directions, found.weights, 5)), np.trace(matrix))
