"""Errors and baselines: each against its definition written out."""

import math
import re
from dataclasses import fields

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, linear, value_of

from prism.derivatives.operators import Laplacian
from prism.errors import FailedRun, InputError
from prism.networks.model import Architecture, Model
from prism.networks.modulation import NONE
from prism.numerics.keys import Purpose, child, items
from prism.problem.constraints import vanishing
from prism.problem.domains import Ball
from prism.problem.family import Family
from prism.problem.parameters import Uniform
from prism.solution.evaluation import (
    POINTS,
    Answers,
    Evaluation,
    Sample,
    _measure,
    affordable_points,
    compare,
    error_at,
    errors_at,
    evaluate,
    summarise,
)

N, PARAMETERS = 2000, 20
VALUES = np.linspace(0.5, 1.5, PARAMETERS)[:, None]
SPACE = Uniform(a=(0.5, 1.5))


def sample(**columns) -> Sample:
    """A sample whose truth depends on μ, with an offset from the hard condition; columns may be given others."""
    random = np.random.default_rng(0)
    exact = random.normal(size=N) + 0.3
    whole = Sample(
        exact=exact,
        predicted=exact * (1.0 + 0.1 * random.normal(size=N)) + 0.05 * random.normal(size=N),
        factor=random.uniform(size=N),
        at_zero=0.2 * random.normal(size=N),
        blind=exact + 0.4 * random.normal(size=N),
        affine=exact + 0.2 * random.normal(size=N),
        index=np.arange(N, dtype=float) % PARAMETERS,
    )
    for name, column in columns.items():
        whole = eqx.tree_at(lambda s, name=name: getattr(s, name), whole, column)
    return whole


def norm(values) -> float:
    return float(np.linalg.norm(values))


def test_the_errors_are_their_definitions():
    s = sample()
    found = summarise(s, VALUES, SPACE.names)
    assert (found.points, found.parameters) == (N, PARAMETERS)
    close(found.relative_l2, norm(s.predicted - s.exact) / norm(s.exact))
    close(found.relative_l1, np.abs(s.predicted - s.exact).sum() / np.abs(s.exact).sum())
    close(found.mu_blind_error, norm(s.blind - s.exact) / norm(s.exact))
    close(found.affine_error, norm(s.affine - s.exact) / norm(s.exact))
    close(found.skill, found.relative_l2 / found.mu_blind_error)


def test_an_exact_prediction_has_no_error():
    found = summarise(sample(predicted=sample().exact), VALUES, SPACE.names)
    assert found.relative_l2 == found.relative_l1 == found.relative_l2_standard_error == found.skill == 0.0
    assert all(row.relative_l2 == 0.0 for row in found.by_parameter)


def test_a_prediction_blind_to_mu_has_skill_one():
    found = summarise(sample(predicted=sample().blind), VALUES, SPACE.names)
    assert found.skill == 1.0
    assert found.relative_l2 == found.mu_blind_error > 0.1


@pytest.mark.parametrize("blind_error", [0.0, 1e-8])
def test_there_is_no_skill_where_the_solution_does_not_depend_on_mu(blind_error):
    found = summarise(sample(blind=sample().exact * (1.0 + blind_error)), VALUES, SPACE.names)
    assert found.skill is None
    assert found.relative_l2 > 0.1


def test_the_trivial_baseline_is_the_best_multiple_of_the_factor():
    s = sample()
    multiple, residue, *_ = np.linalg.lstsq(s.factor[:, None], s.exact - s.at_zero, rcond=None)
    trivial = summarise(s, VALUES, SPACE.names).trivial_error
    close(trivial, math.sqrt(residue[0]) / norm(s.exact))
    for other in (0.0, 0.99 * multiple[0], 1.01 * multiple[0]):
        assert norm(other * s.factor + s.at_zero - s.exact) / norm(s.exact) > trivial


def test_a_multiple_of_the_factor_is_trivial():
    s = sample()
    found = summarise(sample(exact=3.0 * s.factor + s.at_zero), VALUES, SPACE.names)
    # The least-squares multiple is 3 up to rounding.
    assert found.trivial_error < 1e-14


def test_errors_at_each_parameter():
    s = sample()
    found = summarise(s, VALUES, SPACE.names)
    assert [row.mu for row in found.by_parameter] == [{"a": value} for value in VALUES[:, 0].tolist()]
    here = slice(7, None, PARAMETERS)
    row = found.by_parameter[7]
    close(row.relative_l2, norm((s.predicted - s.exact)[here]) / norm(s.exact[here]))
    close(row.mu_blind_error, norm((s.blind - s.exact)[here]) / norm(s.exact[here]))
    size = lambda row_number: np.sum(s.exact[row_number::PARAMETERS] ** 2)
    total = sum(row.relative_l2**2 * size(number) for number, row in enumerate(found.by_parameter))
    close(math.sqrt(total) / norm(s.exact), found.relative_l2)


def test_without_an_affine_baseline_there_is_none():
    found = summarise(sample(affine=None), VALUES, SPACE.names)
    assert found.affine_error is None
    assert found.as_json()["affine_error"] is None
    assert "by_parameter" not in found.as_json()


def test_the_standard_error_is_that_of_a_bootstrap():
    s = sample()
    random = np.random.default_rng(1)
    error, size = (s.predicted - s.exact) ** 2, s.exact**2
    drawn = random.integers(0, N, size=(2000, N))
    resampled = np.sqrt(error[drawn].sum(axis=1) / size[drawn].sum(axis=1))
    found = summarise(s, VALUES, SPACE.names).relative_l2_standard_error
    # 2000 resamples know a deviation to 1/√4000 = 1.6 %; 10 % also leaves room for the delta method's O(1/√N).
    assert found == pytest.approx(np.std(resampled), rel=0.1)


class Known(Family):
    """Δu + a u = 0 in name only, with u = (1 − |x|²)(a^p (1 + x₁) + sin(bend·x₂)) as the solution that is known."""

    domain: Ball
    power: float = eqx.field(static=True, default=1.0)
    bend: float = eqx.field(static=True, default=0.0)
    parameters = SPACE
    terms = {"lap": Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value

    def constraint(self):
        return vanishing(self.domain)

    def exact(self, x, mu):
        return (1.0 - jnp.sum(x * x)) * (mu.a**self.power * (1.0 + x[0]) + jnp.sin(self.bend * x[1]))

    def affine(self, x, mu):
        return (1.0 - jnp.sum(x * x)) * (mu.a**self.power * (1.0 + x[0]) + self.bend * x[1])


def network(family: Family) -> Model:
    return Model.create(Architecture(linear(4), 4, 2, modulation=NONE), family.domain, family.parameters, KEY)


def test_the_mean_over_mu_and_the_affine_baseline_of_a_family():
    family = Known(Ball(3))
    found = evaluate(network(family), family, KEY, 300)
    assert (found.points, found.parameters) == (300, 100)
    for row in found.by_parameter:
        assert 0.5 < row.mu["a"] < 1.5
        # u is linear in a, whose mean is 1.
        assert row.mu_blind_error == pytest.approx(abs(row.mu["a"] - 1.0) / row.mu["a"], abs=1e-12)
    assert found.affine_error == pytest.approx(0.0, abs=1e-14)
    assert found.trivial_error > 0.1
    assert found.skill == found.relative_l2 / found.mu_blind_error


def test_chunks_add_up_to_the_whole_and_mu_may_not_matter():
    family, count = Known(Ball(3), power=0.0, bend=2.0), 4500
    model = network(family)
    found = evaluate(model, family, KEY, count)  # in three chunks, the last cut short
    parameters = jax.vmap(SPACE.sample)(items(child(KEY, Purpose.PARAMETERS), 100))
    numbers = jnp.arange(count)
    at_once = jax.tree.map(np.asarray, _measure(model, family, parameters, child(KEY, Purpose.POINTS), numbers))
    expected = summarise(at_once, np.asarray(parameters), SPACE.names)
    assert found.points == expected.points == count
    assert found.skill is expected.skill is None, "u does not depend on a here"
    for name, value in expected.as_json().items():
        assert name in ("skill", "reference_uncertainty", "trivial_answer") or getattr(found, name) == pytest.approx(
            value, rel=1e-10, abs=1e-14
        )
    for row, other in zip(found.by_parameter, expected.by_parameter, strict=True):
        assert row.relative_l2 == pytest.approx(other.relative_l2, rel=1e-10)
    assert found.affine_error > 0.01


def test_points_are_fewer_where_each_is_dear():
    assert affordable_points(100) == affordable_points(10_000) == POINTS
    assert affordable_points(1_000_000) < POINTS
    assert affordable_points(10**9) == 100


def test_errors_at_given_parameters_are_their_definition():
    family, parameters = Known(Ball(3)), jnp.asarray([[0.6], [1.4]])
    model = network(family)
    found = errors_at(model, family, parameters, KEY, 50)
    points = jax.vmap(family.domain.sample)(items(KEY, 50))
    for mu, error in zip(parameters, found, strict=True):
        exact = jax.vmap(lambda x, mu=mu: family.exact(x, SPACE.named(mu)))(points)
        predicted = (1.0 - jnp.sum(points**2, axis=1)) * jax.vmap(lambda x, mu=mu: value_of(model, x, mu))(points)
        close(error, norm(predicted - exact) / norm(exact))
    close(error_at(model, family, parameters[0], KEY, 50), found[0])


@pytest.mark.parametrize(
    ("skill", "shown"),
    [(0.32, "0.32 .* 3.1 times"), (1e-4, "0.0001 .* 10,000 times"), (8.13e-5, "8.13e-05 .* 12,300 times")],
)
def test_a_skill_is_told_with_its_digits(skill, shown):
    """However small, and how many times as good it is to three digits at most."""
    errors = dict.fromkeys((field.name for field in fields(Evaluation)), 1.0)
    errors |= {"points": 1, "parameters": 1, "by_parameter": (), "trivial_answer": "", "trivial_error": 2.0}
    told = Evaluation(**{**errors, "skill": skill}).describe()[-1]
    assert re.search(f"^skill +{shown} as good as the best answer that ignores μ", told), told


def answers(truth, predicted) -> Answers:
    zero = np.zeros(4)
    return Answers(np.asarray(truth), np.asarray(predicted), zero, zero, None, np.asarray([0, 1, 0, 1]))


@pytest.mark.parametrize(
    ("truth", "predicted", "failure", "message"),
    [
        ([1.0, np.nan, 1.0, np.inf], np.ones(4), InputError, "the exact solution is not finite at 2 of 4 .* at a = 2"),
        (np.zeros(4), np.ones(4), InputError, "the exact solution is zero at all held-out points"),
        (np.ones(4), [1.0, 1.0, np.nan, 1.0], FailedRun, "the prediction of .* is not finite at 1 of 4 .* a = 1"),
    ],
)
def test_what_is_no_number_is_no_error(truth, predicted, failure, message):
    with pytest.raises(failure, match=message):
        compare(answers(truth, predicted), np.asarray([[1.0], [2.0]]), ("a",), "nothing")
