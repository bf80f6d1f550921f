"""Lifts that are not linear: derivatives along all kinds of directions against nested automatic differentiation of the
written-out network. (Of linear ones `test_operators.py` asks the same, and more.)"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives.cases import FreeTerms, check_mean, family_of, free_formula, oracles, places, true_terms, unbiased
from helpers import (
    KEY,
    LIFTS,
    WIDER,
    Case,
    Terms,
    close,
    mostly_slow,
    network_formula,
    operators,
    small_model,
    solution_formula,
    swirl,
    term_values,
)

from prism.derivatives.directions import Decomposition, Dense
from prism.derivatives.estimators import Coordinates, Exact, Gram, Rademacher
from prism.derivatives.operators import (
    Directional,
    GradientNormSquared,
    Laplacian,
    Partial,
    TimeDerivative,
    WeightedTrace,
)
from prism.networks.lifts.parts import Norm, Time
from prism.problem.constraints import HardConstraint, radial
from prism.problem.domains import Ball
from prism.problem.forms import QuadraticForm, squared_norm
from prism.problem.time_domains import TimeCylinder

BALL, CYLINDER = Ball(WIDER, 1.2), TimeCylinder(Ball(WIDER), 2.0)
OPERATORS = [
    case
    for case in operators(BALL, CYLINDER)
    if case.isotropic != WIDER - 1
    and (case.domain is CYLINDER or case.isotropic or case.operator in (Directional(swirl), Partial(0, 0, 1)))
]
"""All kinds, but on the ball only one of the matrices σ and of the partial derivatives."""
NONLINEAR = {name: lift for name, lift in LIFTS.items() if name not in ("dense", "affine")}
KEYS = jax.random.split(KEY, 20_000)
bent_and_sum = pytest.mark.parametrize(
    "lift", mostly_slow({name: LIFTS[name] for name in ("bent sites", "sum")}, "bent sites")
)


class Turned(Exact):
    """The directions of Exact, turned and written as full vectors: complete, as random ones are in the mean alone."""

    def law(self, order, dimension, width, key):
        exact = super().law(order, dimension, width, key)
        rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(dimension, dimension)))[0]
        return Decomposition(Dense(exact.directions.dense(dimension) @ rotation), exact.weights)


def on(domain, estimator=None) -> list[Case]:
    """The operators, or those for which an estimator is unbiased."""
    cases = [case for case in OPERATORS if case.domain is domain]
    return [case for case in cases if estimator is None or unbiased(case, estimator)]


def several(domain):
    """Places, and the middle of space, where gradients may vanish."""
    x, mu = places(domain)
    return jnp.concatenate([x, x[:1].at[:, : domain.dimension].set(0.0)]), jnp.concatenate([mu, mu[:1]])


def compare(lift, domain, families, formula=solution_formula) -> None:
    """The terms of each family under its estimator with those of the formula, all in one program."""
    model, whole = small_model(domain, depth=1, lift=lift), {}
    for _, family in families:
        whole |= family.terms
    everything = Terms(domain, whole)

    @jax.jit
    @jax.vmap
    def terms(x, mu):
        found = [term_values(model, family, estimator, x, mu, KEY) for estimator, family in families]
        return found, true_terms(everything, formula(model, everything), x, mu)

    found, truth = terms(*several(domain))
    size = np.max(np.abs(truth["value"]))
    for (estimator, _), values in zip(families, found, strict=True):
        for term in values:
            # What vanishes, as mixed derivatives of a sum do, is compared with the solution itself.
            scale = np.max(np.abs(truth[term])) or size
            name = f"{term} under {estimator}"
            np.testing.assert_allclose(values[term], truth[term], rtol=0, atol=1e-10 * scale, err_msg=name)


@pytest.mark.parametrize("lift", mostly_slow(NONLINEAR, "sum", "quadratic"))
def test_derivatives_on_a_ball(lift):
    """Under a constraint that is radial: along coordinates, and in the span of the gradients of all channels or, where
    every term is linear, of those that are bent."""
    traces = [case for case in on(BALL) if isinstance(case.operator, WeightedTrace)]
    others = [case for case in on(BALL) if case not in traces]
    slope = Terms(BALL, {"GradientNormSquared()": GradientNormSquared()})
    compare(lift, BALL, [(Exact(), family_of(others)), (Gram(), slope), (Gram(), family_of(traces))])


@bent_and_sum
def test_derivatives_along_full_vectors(lift):
    compare(lift, BALL, [(Turned(), family_of(on(BALL, Turned())))])


@bent_and_sum
def test_derivatives_in_time_under_a_constraint_of_ones_own(lift):
    compare(lift, CYLINDER, [(Coordinates(WIDER), family_of(on(CYLINDER)))])


@bent_and_sum
def test_gram_is_exact_where_the_network_is_the_solution(lift):
    """In time, which its directions leave out."""
    compare(lift, CYLINDER, [(Gram(), family_of(on(CYLINDER, Gram()), FreeTerms))], free_formula)


WITH_TIME = {
    "norms and time": Norm() + Norm(logarithmic=True) + Time(),
    "form and time": LIFTS["form"] + Time(),
    "sites and time": LIFTS["exchangeable sites"] + Time(),
}


FORM = Norm(tuple(np.linspace(0.5, 2.0, WIDER).tolist()), tuple(np.linspace(-0.3, 0.4, WIDER - 1).tolist()))


def norms() -> list[QuadraticForm]:
    """Those of the constraint."""
    return [QuadraticForm(jnp.asarray(FORM.weights), jnp.asarray(FORM.neighbours)), squared_norm(WIDER)]


class NormTerms(Terms):
    """The same operators where norms and time make the constraint."""

    def constraint(self):
        return radial(self.domain, norm_factor, norm_offset, norms())


def norm_factor(s, t, mu):
    return t * (2.0 + jnp.sin(mu.mu1 * s[1] - t))


def norm_offset(s, t, mu):
    return jnp.exp(-mu.mu2 * s[0] / 3.0) * jnp.cos(t + s[1])


def norm_formula(model, family):
    """u(x; μ) written out under that constraint."""

    def u(x, mu):
        named, s = family.parameters.named(mu), jnp.stack([form(x) for form in norms()])
        return norm_factor(s, x[-1], named) * network_formula(model, x, mu) + norm_offset(s, x[-1], named)

    return u


@pytest.mark.parametrize("lift", mostly_slow(WITH_TIME, "norms and time"))
def test_time_passes_beside_the_directions_of_space(lift):
    """Δu, |∇u|² and u_t together, where norms and time make lift or constraint: along all coordinates, and in the span
    of the lift and of the constraint's own gradients, where no random direction takes part."""
    terms = {"lap": Laplacian(), "slope": GradientNormSquared(), "t": TimeDerivative()}
    compare(lift, CYLINDER, [(one, NormTerms(CYLINDER, terms)) for one in (Exact(), Gram())], norm_formula)
    compare(lift, CYLINDER, [(Gram(), FreeTerms(CYLINDER, terms))], free_formula)
    compare(FORM + Norm() + Time(), CYLINDER, [(Gram(), NormTerms(CYLINDER, terms))], norm_formula)


def check_slopes(lift) -> None:
    """The derivatives of the Laplacian under Gram by all weights and by the point with those of the formula."""
    family, model = Terms(BALL, {"lap": Laplacian()}), small_model(BALL, depth=1, lift=lift)
    weights, rest = eqx.partition(
        eqx.tree_at(lambda m: (m.level, m.amplitude), model, (0.3, 0.7)), eqx.is_inexact_array
    )

    @jax.jit
    @jax.vmap
    def slopes(x, mu):
        changed = lambda weights: eqx.combine(weights, rest)
        ours = lambda weights, x: term_values(changed(weights), family, Gram(), x, mu, KEY)["lap"]
        theirs = lambda weights, x: true_terms(family, solution_formula(changed(weights), family), x, mu)["lap"]
        return [jax.grad(laplacian, (0, 1))(weights, x) for laplacian in (ours, theirs)]

    for found, truth in zip(*map(jax.tree.leaves, slopes(*places(BALL))), strict=True):
        if truth.size:
            close(found, truth)


@pytest.mark.parametrize("lift", mostly_slow(NONLINEAR, "sum"))
def test_the_frozen_basis_of_gram_changes_no_derivative(lift):
    check_slopes(lift)


def uneven_factor(x, mu):
    return 1.0 + jnp.sin(mu.mu1 * (x[0] - 2.0 * x[3]))


class Uneven(Terms):
    """Under a constraint that is not radial."""

    def constraint(self) -> HardConstraint:
        return HardConstraint(factor=uneven_factor)


def uneven_formula(model, family):
    """u(x; μ) written out under that constraint."""
    return lambda x, mu: uneven_factor(x, family.parameters.named(mu)) * network_formula(model, x, mu)


BOTH, LAPLACIAN = {"lap": Laplacian(), "slope": GradientNormSquared()}, {"lap": Laplacian()}
RANDOM = {
    "sites, Rademacher": ("sites", Terms(BALL, BOTH), Rademacher(4)),
    "periodic sites, Coordinates": ("periodic sites", Terms(BALL, BOTH), Coordinates(3)),
    "sum, Gram(2)": ("sum", Terms(BALL, BOTH), Gram(2)),
    "sum, Gram, uneven": ("sum", Uneven(BALL, BOTH), Gram()),
    "sites, Gram, uneven and linear": ("sites", Uneven(BALL, LAPLACIAN), Gram()),
}
"""Under an uneven constraint Gram is random. Where all terms are linear, what is read out may leave its span."""


@pytest.mark.parametrize(
    ("name", "family", "estimator"),
    mostly_slow(RANDOM, "sites, Rademacher", "sum, Gram, uneven", "sites, Gram, uneven and linear"),
)
def test_random_estimates_are_right_in_the_mean(name, family, estimator):
    formula = uneven_formula if isinstance(family, Uneven) else solution_formula
    check_mean(family, estimator, KEYS, oracles(family, formula, LIFTS[name], 1), LIFTS[name], depth=1)
