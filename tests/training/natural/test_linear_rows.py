"""Rows with their derivatives: the values are the objective's own, the Jacobian in factors is the plain one."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import CYLINDER, KEY, LIFTS, SITES, Terms, close, linear, mostly_slow, roughened
from jax.flatten_util import ravel_pytree

import prism
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Gram, Rademacher
from prism.networks.model import Architecture, Model
from prism.networks.modulation import CONCAT, NONE
from prism.numerics.keys import items
from prism.objective.batches import Batch, Sampling
from prism.objective.rows import Objective, Slopes
from prism.training.natural.jacobian import Weights
from prism.training.natural.linear_rows import linear_rows

D = 6
BALL = prism.Ball(D)
NARROW = Architecture(linear(2, 1), 3, 2, 2, 1)
"""Three channels leave the lift: fewer than dimensions, so that `Gram` has a space beyond their span."""
ESTIMATORS = (
    Exact(),
    Coordinates(3),
    Coordinates(3, shared=True),
    Rademacher(2),
    Gaussian(2, shared=True),
    Gram(),
    Gram(2),
    Gram(2, shared=False),
)


def constant_sigma(x, mu):
    return jnp.linspace(0.5, 1.5, D)


def varying_sigma(x, mu):
    return 1.0 + mu.mu1 * jnp.sin(x) ** 2


LAPLACIAN, TRACE = prism.Laplacian(), prism.WeightedTrace(constant_sigma)
SEVERAL = Terms(BALL, {"lap": LAPLACIAN, "third": prism.Partial(0, 0, 1), "trace": TRACE})
RAGGED = Terms(
    CYLINDER,
    {"x": prism.Partial(0), "yy": prism.Partial(1, 1), "ty": prism.Partial(1, 5), "xxxy": prism.Partial(0, 0, 0, 1)},
)
"""Six directions, of which four are needed beyond order 2."""
IN_TIME = Terms(CYLINDER, {"lap": LAPLACIAN, "rate": prism.TimeDerivative()})


class RadialInTime(Terms):
    """Under a constraint of |x|² and time."""

    def constraint(self):
        return prism.radial(self.domain, lambda s, t, mu: t * (2.0 - s), lambda s, t, mu: jnp.cos(mu.mu1 * s + t))


RADIAL_IN_TIME = RadialInTime(CYLINDER, {"lap": LAPLACIAN, "rate": prism.TimeDerivative()})
VARYING = Terms(BALL, {"trace": prism.WeightedTrace(varying_sigma)})


class Conditioned(Terms):
    """With values asked for on the sphere."""

    @property
    def conditions(self):
        return {"boundary": prism.Prescribed(prism.Sphere(D), lambda x, mu: mu.mu1 * x[0], points=3, weight=2.0)}


class WithData(Conditioned):
    """And with data."""

    @property
    def conditions(self):
        at = jnp.cos(jnp.arange(3.0 * D)).reshape(3, D) / 4
        data = prism.Observed(at, jnp.ones((3, 2)), jnp.arange(3.0), points=2, weight=0.5)
        return {**super().conditions, "data": data}


class WithFlux(Conditioned):
    """And with derivatives along a field, beside values: under the hard constraint of `Terms`."""

    @property
    def conditions(self):
        sphere, field = self._sphere(), lambda x: jnp.roll(x, 1) * jnp.cos(x[0])
        flux = prism.Prescribed(sphere, lambda x, mu: mu.mu2 * x[1], points=3, weight=0.7, along=field)
        return {**super().conditions, "flux": flux} if isinstance(self.domain, prism.Ball) else {"flux": flux}

    def _sphere(self):
        if isinstance(self.domain, prism.Ball):
            return prism.Sphere(D, 0.8)
        return prism.TimeCylinder(prism.Sphere(self.domain.dimension), 2.0)


CONDITIONED = Conditioned(BALL, {"lap": LAPLACIAN})
WITH_FLUX = WithFlux(BALL, {"lap": LAPLACIAN})
SHALLOW = replace(NARROW, depth=1)


def lifted(lift) -> Architecture:
    """With channels that are no linear function of x."""
    return replace(SHALLOW, lift=lift)


def network(domain, architecture: Architecture = NARROW) -> Model:
    return roughened(eqx.filter_eval_shape(Model.create, architecture, domain, Terms.parameters, KEY))


def objective_of(family, estimator, crossed: bool = False, slopes: Slopes | None = None) -> Objective:
    sampling, scales = Sampling(4, 2 if crossed else 4, crossed), (jnp.asarray(5.0), jnp.asarray(2.0))
    return Objective(family, estimator, jnp.asarray(3.0), sampling, False, slopes, *scales)


def drawn(objective: Objective, model: Model) -> Batch:
    """Drawn operation by operation: all cases share what is compiled for it."""
    return objective.draw(model, KEY)


def stacked(objective: Objective, model: Model, batch: Batch):
    """All rows of the objective in units where the sum of their squares is N times the loss; and N times the loss."""
    rows = objective.rows(model, batch)
    count = rows.equation.size
    conditions = [(count / misses.size) ** 0.5 * misses for misses in rows.conditions]
    slopes = [] if rows.slopes is None else [rows.slopes.reshape(-1)]
    return jnp.concatenate([rows.equation, *conditions, *slopes]), count * rows.loss()


@eqx.filter_jit
def values_and_loss(objective: Objective, model: Model, batch: Batch):
    return linear_rows(objective, model, batch).values, *stacked(objective, model, batch)


@pytest.mark.parametrize("estimator", mostly_slow({str(one): one for one in ESTIMATORS}, "Gram()"))
def test_the_values_are_the_rows_of_the_objective(estimator):
    """Of all pairs, with a condition and slopes; those of paired points are compared with the Jacobian."""
    objective, model = objective_of(CONDITIONED, estimator, True, Slopes(2)), network(BALL, SHALLOW)
    values, expected, loss = values_and_loss(objective, model, drawn(objective, model))
    assert values.shape == (8 + 3 + 2 * 8,)
    close(values, expected)
    close(jnp.sum(values**2), loss)


@pytest.mark.parametrize("estimator", mostly_slow({str(one): one for one in ESTIMATORS}, "Coordinates(count=3)"))
def test_the_factored_jacobian_with_conditions_and_slopes_equals_the_plain_one(estimator):
    compare_with_plain(objective_of(CONDITIONED, estimator, slopes=Slopes(2)), network(BALL, SHALLOW))


CASES = {
    "several orders, crossed, Gram": (SEVERAL, Gram(), True, SHALLOW),
    "several orders, crossed, Coordinates": (SEVERAL, Coordinates(3), True, SHALLOW),
    "several orders, Gram(2)": (SEVERAL, Gram(2), False, NARROW),
    "two conditions": (WithData(BALL, {"lap": LAPLACIAN}), Exact(), False, NARROW),
    "ragged": (RAGGED, Exact(), False, SHALLOW),
    "ragged, crossed, sum": (RAGGED, Exact(), True, lifted(LIFTS["sum"])),
    "fluxes": (WITH_FLUX, Exact(), False, NARROW),
    "fluxes, crossed, Gram": (WITH_FLUX, Gram(), True, SHALLOW),
    "fluxes in time": (WithFlux(CYLINDER, {"rate": prism.TimeDerivative()}), Exact(), False, SHALLOW),
    "wave": (prism.families.GKdV.create(), Exact(), False, SHALLOW),
    "ragged, fluxes": (WithFlux(CYLINDER, RAGGED.terms), Exact(), False, SHALLOW),
    "fluxes, sum": (WITH_FLUX, Exact(), False, lifted(LIFTS["sum"])),
    "fluxes, blocks": (WITH_FLUX, Exact(), False, lifted(LIFTS["blocks"])),
    "fluxes, nothing linear": (WITH_FLUX, Exact(), False, lifted(LIFTS["bent sites"])),
    "σ, Rademacher": (Terms(BALL, {"trace": TRACE}), Rademacher(2), False, NARROW),
    "σ that varies, Gram": (VARYING, Gram(2), False, NARROW),
    "in time, Exact": (IN_TIME, Exact(), False, SHALLOW),
    "in time, Coordinates": (IN_TIME, Coordinates(2), False, SHALLOW),
    "in time, Gram": (IN_TIME, Gram(), False, SHALLOW),
    "in time, radial, Gram": (RADIAL_IN_TIME, Gram(), False, SHALLOW),
    "sum, crossed, Gram": (Terms(BALL, {"lap": LAPLACIAN}), Gram(), True, lifted(LIFTS["sum"])),
    "sites outside the span, Gram(2)": (
        Terms(BALL, {"lap": LAPLACIAN}),
        Gram(2, shared=False),
        False,
        lifted(linear(2, 1) + SITES),
    ),
    "nothing linear, conditions, Coordinates": (CONDITIONED, Coordinates(3), False, lifted(LIFTS["bent sites"])),
    "blocks, Gram": (Terms(BALL, {"lap": LAPLACIAN}), Gram(), False, lifted(LIFTS["blocks"])),
    "quadratic, Gram": (Terms(BALL, {"lap": LAPLACIAN}), Gram(), False, lifted(LIFTS["quadratic"])),
    "sites in time, Gram": (IN_TIME, Gram(), False, lifted(prism.Dense(1) + SITES)),
}


@pytest.mark.parametrize(
    ("family", "estimator", "crossed", "architecture"),
    mostly_slow(CASES, "several orders, crossed, Gram", "two conditions", "fluxes, sum"),
)
def test_the_factored_jacobian_equals_the_plain_one(family, estimator, crossed, architecture):
    compare_with_plain(objective_of(family, estimator, crossed), network(family.domain, architecture))


SLOPES = (
    *("in time, Exact", "in time, radial, Gram", "sum, crossed, Gram", "σ that varies, Gram", "fluxes, sum"),
    *("ragged, fluxes", "wave"),
)
"""Directions that are the same everywhere, that move with the point, and that are the parameter's; and partial
derivatives, which are a series in several variables, beside conditions on derivatives."""


@pytest.mark.parametrize(
    ("family", "estimator", "crossed", "architecture"),
    mostly_slow({name: CASES[name] for name in SLOPES}, "in time, radial, Gram", "wave"),
)
def test_slopes_are_rows_of_all_weights(family, estimator, crossed, architecture):
    compare_with_plain(objective_of(family, estimator, crossed, Slopes(2)), network(family.domain, architecture))


@pytest.mark.parametrize("modulation", [CONCAT, NONE], ids=["concat", "none"])
def test_a_network_with_one_head_or_none_is_factored_too(modulation):
    objective = objective_of(Terms(BALL, {"lap": LAPLACIAN}), Coordinates(2))
    compare_with_plain(objective, network(BALL, replace(NARROW, modulation=modulation)))


@eqx.filter_jit
def both_jacobians(objective: Objective, model: Model, batch: Batch):
    """Values, kernel, Jᵀc and Jδ, from factors and from the Jacobian that reverse differentiation writes out."""
    found, whole = linear_rows(objective, model, batch), Weights.of(model)
    weights = whole.without_followers()
    put = lambda changed: replace(changed, followers=whole.followers).put(model)
    values, back, loss = jax.vjp(lambda changed: stacked(objective, put(changed), batch), weights, has_aux=True)
    (plain,) = jax.vmap(back)(jnp.eye(values.size))
    flat = jax.vmap(lambda row: ravel_pytree(row)[0])(plain)
    behind = jax.vmap(lambda row: ravel_pytree(row.without_lift())[0])(plain)
    coefficients = jnp.arange(1.0, 1.0 + values.size)
    change = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size)).reshape(leaf.shape), weights)
    jacobian = found.jacobian
    return {
        "values": (found.values, values),
        "loss": (jnp.sum(found.values**2), loss),
        "kernel": (jacobian.kernel(), flat @ flat.T),
        "kernel behind the lift": (jacobian.without_lift().kernel(), behind @ behind.T),
        "pull": (ravel_pytree(jacobian.pull(coefficients, weights))[0], coefficients @ flat),
        "push": (jacobian.push(change), flat @ ravel_pytree(change)[0]),
        "plain rows": (jacobian.plain, plain.plain),
    }


def compare_with_plain(objective: Objective, model: Model) -> None:
    for name, (found, expected) in both_jacobians(objective, model, drawn(objective, model)).items():
        close(found, expected, name=name)


AT_A_PAIR = {
    "Exact": (Exact(), NARROW.lift),
    "Gram": (Gram(), NARROW.lift),
    "sum, Gram": (Gram(), LIFTS["sum"]),
}


@pytest.mark.parametrize(("estimator", "lift"), mostly_slow(AT_A_PAIR, "sum, Gram"))
def test_slopes_and_responses_are_the_gradients_at_a_pair(estimator, lift):
    """∂r/∂x with the directions at x, and ∂r/∂z, which the bias of the lift shows: z = xW + b."""
    objective = objective_of(Terms(BALL, {"lap": LAPLACIAN}), estimator)
    model = network(BALL, replace(NARROW, lift=lift))

    @eqx.filter_jit
    def compare(objective, model, batch):
        equations = lambda model, points: objective.equations(
            model, eqx.tree_at(lambda b: b.points, batch, points), batch.draws
        )
        by_points = jax.jacrev(lambda points: equations(model, points))(batch.points)
        biased = lambda bias: equations(eqx.tree_at(lambda m: m.lift.bias, model, bias), batch.points)
        found = linear_rows(objective, model, batch)
        _, also = batch.pairs().map(lambda pair: objective.equation_and_slopes(model, pair))
        also = objective.slope_scale / objective.scale * also
        expected = jnp.stack([by_points[n, n] for n in range(len(batch.points))])
        return (found.slopes, expected), (also, expected), (found.responses, jax.jacrev(biased)(model.lift.bias))

    for found, expected in compare(objective, model, drawn(objective, model)):
        close(found, expected)


def test_slopes_along_random_directions_have_the_mean_of_the_whole():
    """In the mean over directions (v·∇r)² is |∇r|², in units of slope_scale."""
    objective, model = objective_of(Terms(BALL, {"lap": LAPLACIAN}), Exact(), slopes=Slopes(2)), network(BALL)
    batch = drawn(objective, model)

    @eqx.filter_jit
    def squares(objective, model, batch, keys):
        """Of every pair under every row of keys, and the whole gradient's."""
        own = lambda keys: objective.rows(model, eqx.tree_at(lambda b: b.keys, batch, keys)).slopes
        entire = replace(objective, slopes=Slopes())
        whole = batch.pairs().map(lambda pair: entire.equation_and_slopes(model, pair))[1]
        return jnp.sum(jax.lax.map(own, keys) ** 2, axis=2), jnp.sum(whole**2, axis=1)

    keys = items(KEY, 4 * 1_000).reshape(1_000, 4)
    found, expected = (np.asarray(part) for part in squares(objective, model, batch, keys))
    error = found.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - expected) < 4 * error)
