"""The two-body benchmark: its closed forms are those of autodiff, its coefficients those of the key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, TWO_BODY_FAMILIES, D, close, name_of, oracle, samples

from prism import Ball, InputError, Laplacian, LogUniform, Uniform
from prism.families import AllenCahn, Poisson, SineGordon, SineGordonBeta
from prism.families.interactions import TwoBody

COUNT = 5


@pytest.mark.parametrize("family", TWO_BODY_FAMILIES, ids=name_of)
def test_two_body_formulas(family):
    two_body, origin = family.interaction, jnp.zeros(D)

    def one(x, mu):
        mu = family.parameters.named(mu)
        omegas = family.frequencies(mu)
        s = lambda y: two_body.value(y, *omegas)
        tangent = s(origin) + x @ jax.grad(s)(origin)
        laplacian = oracle(Laplacian(), family.domain, lambda y: family.exact(y, mu), x, mu)
        value_beside, laplacian_beside = two_body.value_and_laplacian(x, *omegas)
        return family.exact(x / jnp.linalg.norm(x), mu), {
            "exact": (family.exact(x, mu), (1 - x @ x) * s(x)),
            "value": (value_beside, s(x)),
            "laplacian": (laplacian_beside, laplacian),
            "tangent": (two_body.tangent(x, *omegas), tangent),
            "affine": (family.affine(x, mu), (1 - x @ x) * tangent),
        }

    at_pairs = jax.jit(jax.vmap(jax.vmap(one, in_axes=(None, 0)), in_axes=(0, None)))
    surface, pairs = at_pairs(samples(family.domain, COUNT), samples(family.parameters, COUNT))
    for name, (ours, theirs) in pairs.items():
        close(ours, theirs, name=name)
    # It vanishes on the boundary: 1 − |x|² at a point of the sphere is a rounding error.
    assert np.max(np.abs(surface)) < 1e-13 * (1 + np.max(np.abs(pairs["exact"][0])))


@pytest.mark.parametrize("kind", [AllenCahn, Poisson, SineGordon, SineGordonBeta])
def test_coefficients_belong_to_the_key(kind):
    first, second = jax.random.split(KEY)
    one, same, other = (kind.create(D, key).interaction.coefficients for key in (first, first, second))
    np.testing.assert_array_equal(one, same)
    assert not np.any(np.asarray(one) == np.asarray(other))


def test_coefficients_are_standard_normal():
    c = np.asarray(TwoBody.create(20_001, False, KEY).coefficients)
    assert c.shape == (20_000,)
    assert abs(c.mean()) < 4 / np.sqrt(20_000)  # 4 standard errors, fixed key
    assert abs(c.var() - 1) < 4 * np.sqrt(2 / 20_000)


def test_scaled_problems_have_coordinates_and_values_of_order_one():
    plain, scaled = (AllenCahn.create(400, KEY, scaled=scaled).interaction for scaled in (False, True))
    assert (plain.stretch, plain.amplitude) == (1.0, 1.0)
    assert scaled.stretch == pytest.approx(20.0)
    assert scaled.amplitude == pytest.approx(1 / 20.0)
    x = samples(Ball(400), 1)[0]
    one = jnp.ones(())
    np.testing.assert_allclose(plain.value(scaled.stretch * x, one, one), 20.0 * scaled.value(x, one, one))


def test_the_two_body_sum_written_out():
    """S = A Σ_i c_i sin(ω₁ y_i + cos(ω₂ y_{i+1}) + y_{i+1} cos y_i), one term at a time."""
    two_body, x = TwoBody.create(D, True, KEY), samples(Ball(D), 1)[0]
    first, second = 0.7, 1.3
    y, total = np.sqrt(D) * np.asarray(x), 0.0
    for i in range(D - 1):
        phase = first * y[i] + np.cos(second * y[i + 1]) + y[i + 1] * np.cos(y[i])
        total += float(two_body.coefficients[i]) * np.sin(phase) / np.sqrt(D)
    close(two_body.value(x, jnp.asarray(first), jnp.asarray(second)), total)


@pytest.mark.parametrize(
    ("kind", "reaction"),
    [
        (AllenCahn, lambda u, a, b: a * u - b * u**3),
        (Poisson, lambda u, a, b: 0.0 * u),
        (SineGordon, lambda u, a, b: a * np.sin(b * u)),
    ],
    ids=["AllenCahn", "Poisson", "SineGordon"],
)
def test_reactions_are_those_of_the_paper(kind, reaction):
    family, u = kind.create(D, KEY), 0.8
    mu = family.parameters.named(jnp.asarray([0.6, 1.4]))
    assert float(family.reaction(jnp.asarray(u), mu)) == pytest.approx(reaction(u, 0.6, 1.4))
    assert family.parameters == Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))


def test_sine_gordon_beta():
    family = SineGordonBeta.create(D, KEY)
    assert family.parameters == LogUniform(beta=(0.1, 10.0))
    mu = family.parameters.named(jnp.asarray([4.0]))
    assert float(family.reaction(jnp.asarray(0.8), mu)) == pytest.approx(4.0 * np.sin(0.8))
    assert [float(omega) for omega in family.frequencies(mu)] == [2.0, 2.0]


def test_parameters_of_ones_own():
    box = Uniform(mu1=(2.0, 3.0), mu2=(0.1, 0.2))
    assert AllenCahn.create(D, KEY, parameters=box).parameters == box


def test_two_bodies_need_two_dimensions():
    with pytest.raises(InputError, match="needs 2 dimensions or more, not 1"):
        AllenCahn.create(1, KEY)
