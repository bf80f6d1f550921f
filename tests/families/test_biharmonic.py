"""The clamped biharmonic: its source is that of autodiff, its solution is clamped, and its term is Δ² of a network."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives.cases import check_mean, computed, oracles, places, true_terms
from helpers import (
    BIHARMONIC,
    KEY,
    LIFTS,
    WIDER,
    D,
    by_name,
    close,
    mostly_slow,
    network_formula,
    oracle,
    samples,
    small_model,
    term_values,
)

from prism import Biharmonic, InputError, Uniform
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Gram
from prism.families import ClampedBiharmonic
from prism.families.interactions import MeanField
from prism.problem.checks.exact import check_exact
from prism.problem.checks.values import Pairs

COUNT = 4


# The problem


PROBLEMS = {
    f"{pairs}{', scaled' if scaled else ''}, {dimension}": (pairs, scaled, dimension)
    for pairs, scaled in (("chain", False), ("chain", True), ("random", False), ("random", True), ("none", False))
    for dimension in (2, 3, 6)
} | {"none, 1": ("none", False, 1)}


@pytest.mark.parametrize(
    ("pairs", "scaled", "dimension"),
    mostly_slow(PROBLEMS, "chain, scaled, 6", "random, scaled, 3", "none, 6"),
)
def test_the_source_is_that_of_nested_autodiff(pairs, scaled, dimension):
    """f = Δ²u + μ₁u + μ₂u³ to 1e-9 of the largest value, which leaves room for sums of fourth derivatives that cancel;
    parameters beyond the usual box make them larger."""
    family = ClampedBiharmonic.create(dimension, KEY, scaled, Uniform(mu1=(0.2, 3.0), mu2=(0.2, 3.0)), pairs)

    @jax.jit
    @jax.vmap
    def both(x, mu):
        named = family.parameters.named(mu)
        exact = lambda y: family.exact(y, named)
        u = exact(x)
        source = oracle(Biharmonic(), family.domain, exact, x, named) + named.mu1 * u + named.mu2 * u**3
        return family.source(x, named), source

    close(*both(samples(family.domain, 2 * COUNT), samples(family.parameters, 2 * COUNT)), 1e-9)


@pytest.mark.parametrize("pairs", ["chain", "none"])
def test_the_solution_is_clamped(pairs):
    """u and ∂u/∂n vanish on the sphere, where ∂²u/∂n² = 8S does not."""
    family = ClampedBiharmonic.create(D, KEY, pairs=pairs)

    @jax.jit
    @jax.vmap
    def along_normal(x, mu):
        named, normal = family.parameters.named(mu), x / jnp.linalg.norm(x)
        exact = lambda y: family.exact(y, named)
        first = lambda y: jax.jvp(exact, (y,), (normal,))
        (value, slope), (_, bend) = jax.jvp(first, (normal,), (normal,))
        return value, slope, bend, 8.0 * family.interaction.value(normal, *family.frequencies(named))

    value, slope, bend, expected = along_normal(samples(family.domain, COUNT), samples(family.parameters, COUNT))
    close(bend, expected)
    size = 1e-14 * np.max(np.abs(expected))  # 1 − |x|² at a point of the sphere is a rounding error
    assert max(np.max(np.abs(value)), np.max(np.abs(slope))) < size


def test_the_affine_part_is_that_of_the_interaction():
    """(1 − |x|²)² (S(0) + x·∇S(0))."""
    family = BIHARMONIC
    x, origin = samples(family.domain, 1)[0], jnp.zeros(D)
    named = family.parameters.named(samples(family.parameters, 1)[0])
    s = lambda y: family.interaction.value(y, *family.frequencies(named))
    expected = lambda: (1 - x @ x) ** 2 * (s(origin) + x @ jax.grad(s)(origin))
    close(*jax.jit(lambda: (family.affine(x, named), expected()))())


def test_the_solution_passes_its_checks():
    pairs = samples(BIHARMONIC.domain, COUNT), samples(BIHARMONIC.parameters, COUNT)
    check_exact(BIHARMONIC, Pairs(*map(np.asarray, pairs)), KEY)


def test_what_is_not_known_is_refused():
    with pytest.raises(InputError, match="known for pairs chain, random and none alone"):
        ClampedBiharmonic.create(D, KEY, pairs="all")
    one, x = jnp.ones(()), samples(BIHARMONIC.domain, 1)[0]
    with pytest.raises(InputError, match="Δ² of a MeanField is not known; choose pairs chain, random or none"):
        MeanField.create(D, False).clamped_bilaplacian(x, one, one)


# Its term, of a network


def formula(model, family):
    """u = (1 − |x|²)² N written out."""
    return lambda x, mu: (1.0 - x @ x) ** 2 * network_formula(model, x, mu)


ABOVE = ClampedBiharmonic.create(WIDER, KEY)
KEYS = jax.random.split(KEY, 20_000)


@functools.cache
def truth() -> dict[str, np.ndarray]:
    return oracles(BIHARMONIC, formula)


WITHOUT_VARIANCE = by_name((Exact(), Coordinates(D), Gram(), Gram(3)))
RANDOM = by_name((Coordinates(3), Gaussian(4), Gram(2)))


@pytest.mark.parametrize("estimator", mostly_slow(WITHOUT_VARIANCE, "Exact()", "Gram()"))
def test_without_variance_the_term_is_that_of_nested_autodiff(estimator):
    """Along d² directions, or along those that the three channels of the lift span: 1e-9 of the largest value."""
    for name, values in computed(BIHARMONIC, estimator, *places(BIHARMONIC.domain), KEYS[:3]).items():
        close(values, truth()[name], 1e-9, name)


@pytest.mark.parametrize("estimator", mostly_slow(RANDOM, "Gram(count=2)"))
def test_random_terms_are_right_in_the_mean(estimator):
    """Within 4 standard errors under a fixed key."""
    check_mean(BIHARMONIC, estimator, KEYS, truth())


ROUND = {"norm": LIFTS["norm"], "logarithmic norm": LIFTS["logarithmic norm"], "blocks": LIFTS["blocks"]}
BENT = {name: lift for name, lift in LIFTS.items() if name not in ("dense", "affine", *ROUND)}


@pytest.mark.parametrize("lift", mostly_slow(ROUND, "norm"))
def test_gram_is_exact_for_channels_that_are_linear_or_of_the_norm(lift):
    compare_with_formula(ABOVE, small_model(ABOVE.domain, depth=1, lift=lift), *places(ABOVE.domain))


@pytest.mark.parametrize("lift", mostly_slow(BENT, "sites"))
def test_gram_is_right_in_the_mean_for_others(lift):
    """Whose second derivatives are not the same along all directions beyond the span."""
    check_mean(ABOVE, Gram(), KEYS[:5_000], oracles(ABOVE, formula, lift, 1), lift, depth=1)


DEPENDENT = {
    "a channel of zeros": lambda w: w.at[:, 1].set(0.0),
    "two equal channels": lambda w: w.at[:, 1].set(w[:, 0]),
    "a channel in the span of two": lambda w: w.at[:, 2].set(w[:, 0] - 2.0 * w[:, 1]),
    "one direction alone": lambda w: w[:, :1] * jnp.asarray([[1.0, -3.0, 0.5]]),
    "nothing but zeros": lambda w: 0.0 * w,
}


def dependent(change):
    model = small_model(BIHARMONIC.domain)
    return eqx.tree_at(lambda m: m.lift.weight, model, replace_fn=change)


@pytest.mark.parametrize("change", mostly_slow(DEPENDENT, "a channel in the span of two"))
def test_gram_is_exact_where_channels_depend_on_each_other(change):
    """To 1e-6: what the raised diagonal of a singular root leaves, as at order 2."""
    compare_with_formula(BIHARMONIC, dependent(change), *places(BIHARMONIC.domain), 1e-6)


IN_SPAN = {"as they are": lambda w: w, "two equal channels": DEPENDENT["two equal channels"]}


@pytest.mark.parametrize("change", mostly_slow(IN_SPAN, "two equal channels"))
def test_gram_is_exact_at_points_in_the_span_of_the_lift(change):
    """And at the centre of the ball, which is in every span."""
    model = dependent(change)
    weight = model.lift.weight / jnp.linalg.norm(model.lift.weight, axis=0, keepdims=True)
    x = jnp.stack([weight @ jnp.asarray(mix) for mix in ((0.3, 0.2, -0.1), (0.0, 0.4, 0.0), (0.0, 0.0, 0.0))])
    compare_with_formula(BIHARMONIC, model, x, places(BIHARMONIC.domain)[1], 1e-6)


def compare_with_formula(family, model, x, mu, tolerance: float = 1e-9) -> None:
    """Under Gram(), with nested autodiff."""

    @jax.jit
    @jax.vmap
    def both(x, mu):
        return term_values(model, family, Gram(), x, mu, KEY), true_terms(family, formula(model, family), x, mu)

    found, expected = both(x, mu)
    for name, values in expected.items():
        close(found[name], values, tolerance, name)
