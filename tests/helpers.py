"""Everything that can be chosen, listed once, so that each new choice faces the same tests; and their oracles.

The oracle for a network is its formula written out; the oracle for a derivative is nested `jax.jvp` of that.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from prism.derivatives.directions import Decomposition, View
from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gaussian, Gram, Rademacher
from prism.derivatives.operators import (
    Biharmonic,
    Directional,
    GradientNormSquared,
    Laplacian,
    Operator,
    Partial,
    TimeDerivative,
    WeightedTrace,
)
from prism.derivatives.taylor import Bump, Jet, Sigmoid, Sin, Softplus, Swish, Tanh, linear_jet, point_jet
from prism.families import (
    AllenCahn,
    Convection,
    ConvectionDiffusion,
    Poisson,
    Reaction,
    ReactionDiffusion,
    SineGordon,
    SineGordonBeta,
)
from prism.families.two_body import TwoBodyFamily
from prism.networks.model import Architecture, Model
from prism.networks.modulation import CONCAT, FILM, NONE, SCALE, SHIFT, ModulationSettings
from prism.objective.residuals import network_derivatives
from prism.problem.constraints import Constraint, HardConstraint, vanishing
from prism.problem.domains import AtTime, Ball, Cube, Domain, Sphere, TimeCylinder, WholeSpace
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.terms import draw_directions, place_at

KEY = jax.random.key(20240607)
D = 5

ESTIMATORS = (Exact(), Coordinates(3), Rademacher(4), Gaussian(4), Gram(), Gram(2))

DOMAINS = {
    "ball": Ball(4, 1.5),
    "line": Ball(1),
    "sphere": Sphere(4, 1.5),
    "cube": Cube(3, -2.0, 1.0),
    "space": WholeSpace(3, 0.5),
    "cylinder": TimeCylinder(Ball(4, 1.5), 2.0),
    "time": AtTime(TimeCylinder(Cube(3, -2.0, 1.0), 2.0), 0.25),
}

TWO_BODY_FAMILIES = tuple(
    kind.create(D, KEY, scaled=scaled)
    for kind in (AllenCahn, Poisson, SineGordon, SineGordonBeta)
    for scaled in (False, True)
)
EVOLUTION_FAMILIES = tuple(
    kind.create(D, KEY) for kind in (Convection, Reaction, ConvectionDiffusion, ReactionDiffusion)
)
FAMILIES = TWO_BODY_FAMILIES + EVOLUTION_FAMILIES

MODULATIONS = {"film": FILM, "scale": SCALE, "shift": SHIFT, "concat": CONCAT, "none": NONE}

ACTIVATIONS = {
    Tanh: jnp.tanh,
    Sin: jnp.sin,
    Sigmoid: jax.nn.sigmoid,
    Softplus: jax.nn.softplus,
    Swish: jax.nn.swish,
    Bump: lambda z: jnp.exp(-z * z / 2),
}
"""Each activation with the function it stands for."""


class Case(NamedTuple):
    """An operator on a domain. `isotropic`: the dimension whose isotropic tensor the estimator decomposes, if any."""

    operator: Operator
    domain: Domain
    isotropic: int | None = None


BALL, CYLINDER = Ball(D, 1.2), TimeCylinder(Ball(D), 2.0)
NARROW, WIDE = (np.random.default_rng(0).normal(size=(D, columns)) for columns in (D - 1, D + 1))


def diagonal_sigma(x, mu):
    return 1.0 + mu.mu1 * jnp.sin(x[:D]) ** 2


def swirl(x, mu):
    return mu.mu1 * jnp.roll(x, 1) - jnp.cos(mu.mu2 * x)


def narrow_sigma(x, mu):
    return jnp.asarray(NARROW) * (1.0 + mu.mu2 * x[:D, None] ** 2)


def wide_sigma(x, mu):
    return jnp.asarray(WIDE) * (1.0 + mu.mu2 * x[:D, None] ** 2)


OPERATORS = (
    Case(Laplacian(), BALL, D),
    Case(Laplacian(), CYLINDER, D),
    Case(GradientNormSquared(), BALL, D),
    Case(GradientNormSquared(), CYLINDER, D),
    Case(Biharmonic(), BALL, D),
    Case(WeightedTrace(diagonal_sigma), BALL, D),
    Case(WeightedTrace(diagonal_sigma), CYLINDER, D),
    Case(WeightedTrace(narrow_sigma), BALL, D - 1),
    Case(WeightedTrace(wide_sigma), BALL, D + 1),
    Case(Partial(1), BALL),
    Case(Partial(0, 3), BALL),
    Case(Partial(0, 0, 1), BALL),
    Case(Partial(2, 0, 4), BALL),
    Case(Partial(1, 1, 1, 1), BALL),
    Case(Partial(0, 0, 1, 1), BALL),
    Case(Partial(0, 0, 0, 1), BALL),
    Case(Partial(0, 0, D, D), CYLINDER),
    Case(Partial(0, 0, 0, 2, 2, 4), BALL),
    Case(TimeDerivative(), CYLINDER),
    Case(TimeDerivative(2), CYLINDER),
    Case(Directional(swirl), BALL),
    Case(Directional(swirl), CYLINDER),
)


def name_of(thing) -> str:
    """A short name for pytest."""
    if isinstance(thing, Case):
        return f"{name_of(thing.operator)}-{type(thing.domain).__name__}"
    if isinstance(thing, TwoBodyFamily):
        return f"{type(thing).__name__}-{'scaled' if thing.interaction.stretch > 1 else 'plain'}"
    if isinstance(thing, Family):
        return type(thing).__name__
    if isinstance(thing, WeightedTrace):
        return f"WeightedTrace({thing.sigma.__name__})"
    if isinstance(thing, Directional):
        return f"Directional({thing.velocity.__name__})"
    if isinstance(thing, Partial):
        return "u_" + "".join("xyzpqt"[axis] for axis in thing.axes)
    return str(thing)


class Terms(Family):
    """Any operators on any domain: their sum is the residual, 0 on the boundary of the ball the condition."""

    domain: Domain
    terms: Mapping[str, Operator]
    parameters = Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))

    def residual(self, u, x, mu):
        return sum(getattr(u, name) for name in self.terms) + mu.mu1 * u.value

    def constraint(self) -> Constraint:
        if isinstance(self.domain, Ball):
            return vanishing(self.domain)
        return HardConstraint(factor=cylinder_factor, offset=cylinder_offset)


def cylinder_factor(x, mu):
    return x[-1] * (1.0 - jnp.sum(x[:-1] ** 2)) * (1.0 + mu.mu1 * x[-1])


def cylinder_offset(x, mu):
    return jnp.sin(mu.mu2 * jnp.sum(x)) * jnp.exp(x[0])


def roughened(model: Model) -> Model:
    """Every array replaced by random signs times numbers around 1/2, so that no γ, β or bias is 0 or 1."""
    generator = np.random.default_rng(1)
    random = lambda shape: jnp.asarray(generator.choice([-1, 1], shape) * generator.uniform(0.2, 0.8, shape))
    return jax.tree.map(lambda leaf: random(leaf.shape) if hasattr(leaf, "shape") else leaf, model)


@functools.cache
def small_model(
    domain: Domain,
    modulation: ModulationSettings = FILM,
    depth: int = 2,
    parameters=None,
    lift_width: int = 2,
    affine: int = 1,
) -> Model:
    """A network whose arrays are all random and whose lift is steep, with so few channels that `Gram` has directions of
    its own in D dimensions."""
    architecture = Architecture(lift_width, 5, depth, 4, 2, modulation, affine=affine)
    space = parameters or Terms.parameters
    with jax.ensure_compile_time_eval():  # it is kept, also when first asked for inside a program
        model = roughened(eqx.filter_eval_shape(Model.create, architecture, domain, space, KEY))
        return eqx.tree_at(lambda m: m.lift.weight, model, replace_fn=lambda w: domain.coordinates**0.5 * w)


def network_formula(model: Model, x, mu):
    """N(x; μ) written out: no jets, no modulation objects."""
    bounds = jnp.asarray([model.parameters.lows, model.parameters.highs])
    standard = (mu - (bounds[0] + bounds[1]) / 2) / ((bounds[1] - bounds[0]) / math.sqrt(12.0))
    embedding, generator, manifold = standard, model.generator, model.manifold
    for weight, bias in zip(generator.weights, generator.biases, strict=True):
        embedding = jnp.tanh(embedding @ weight + bias)
    total = sum(generator.widths)
    gamma = jnp.ones(total) if generator.scale_head is None else 1.0 + embedding @ generator.scale_head
    beta = jnp.zeros(total) if generator.shift_head is None else embedding @ generator.shift_head
    sigma = ACTIVATIONS[type(manifold.activation)]
    z, start = x @ model.lift.weight + model.lift.bias, 0
    affine = jnp.zeros(())
    if generator.affine_offset is not None:
        q = generator.affine_offset
        q = q if generator.affine_head is None else q + embedding @ generator.affine_head
        z, affine = z[: generator.widths[0]], q @ z[generator.widths[0] :]
    for index, width in enumerate(generator.widths):
        h = gamma[start : start + width] * z + beta[start : start + width]
        h = h if index == 0 and manifold.linear_lift else sigma(h)
        start += width
        if index < len(manifold.weights):
            z = manifold.weights[index] @ h + manifold.biases[index]
    return model.amplitude * (h @ manifold.readout + manifold.offset + affine)


def solution_formula(model: Model, family: Terms) -> Callable:
    """u(x; μ) written out, under the constraint of `Terms`."""

    def u(x, mu):
        network, named = network_formula(model, x, mu), family.parameters.named(mu)
        if isinstance(family.domain, Ball):
            return (1.0 - jnp.sum(x**2) / family.domain.radius**2) * network
        return cylinder_factor(x, named) * network + cylinder_offset(x, named)

    return u


def term_values(model: Model, family: Family, estimator: Estimator, x, mu, key) -> dict:
    """u and the family's terms at one pair, along directions drawn with this key."""
    draws = draw_directions(family, estimator, place_at(family, x, mu, model.lift.weight), key)
    return vars(network_derivatives(model, family, draws, x, mu))


def directional(f: Callable, *vectors) -> Callable:
    """x ↦ Dᴷf(x)[v_1, ..., v_K], by nested `jax.jvp`."""
    for v in vectors:
        f = functools.partial(lambda x, f, v: jax.jvp(f, (x,), (v,))[1], f=f, v=v)
    return f


def taylor_coefficients(f: Callable, order: int) -> list:
    """f(0), f'(0), f''(0)/2!, ... of a function of one number, by nested `jax.jvp`."""

    def extended(derivatives: Callable) -> Callable:
        def longer(t):
            values, slopes = jax.jvp(derivatives, (t,), (jnp.ones_like(t),))
            return [*values, slopes[-1]]

        return longer

    derivatives = lambda t: [f(t)]
    for _ in range(order):
        derivatives = extended(derivatives)
    return [value / math.factorial(k) for k, value in enumerate(derivatives(jnp.zeros(())))]


def _trace(f: Callable, rows) -> Callable:
    """x ↦ Σ_i D²f(x)[r_i, r_i]."""
    return lambda x: jnp.sum(jax.vmap(lambda r: directional(f, r, r)(x))(rows))


def oracle(operator: Operator, domain: Domain, f: Callable, x, mu):
    """L f at x by nested automatic differentiation of f."""
    axes = jnp.eye(domain.coordinates)
    space = axes[: domain.dimension]
    match operator:
        case Laplacian():
            return _trace(f, space)(x)
        case GradientNormSquared():
            return jnp.sum((space @ jax.grad(f)(x)) ** 2)
        case Biharmonic():
            return _trace(_trace(f, space), space)(x)
        case WeightedTrace():
            sigma = operator.sigma(x, mu)
            columns = jnp.diag(sigma) if sigma.ndim == 1 else sigma.T
            return _trace(f, columns @ space)(x)
        case Partial():
            return directional(f, *[axes[a] for a in operator.axes])(x)
        case Directional():
            return directional(f, operator.velocity(x, mu))(x)
        case TimeDerivative():
            return directional(f, *[axes[-1]] * operator.times)(x)
    raise NotImplementedError(f"give {type(operator).__name__} an oracle here")


def samples(source: Domain | ParameterSpace, count: int):
    """Points of a domain or parameters of a space."""
    # One operation at a time: random numbers take long to compile, and those of one shape are shared.
    with jax.ensure_compile_time_eval():
        return jax.vmap(source.sample)(jax.random.split(KEY, count))


def uniform_distance(values) -> float:
    """Kolmogorov and Smirnov's √n sup |F_n − F| against the uniform law on (0, 1); above 1.95 once in a thousand."""
    ordered = np.sort(np.asarray(values, dtype=float).ravel())
    n = len(ordered)
    steps = np.arange(n + 1) / n
    return float(np.sqrt(n) * max(np.max(steps[1:] - ordered), np.max(ordered - steps[:-1])))


def decomposed(estimator: Estimator, order: int, dimension: int, key, view: View | None = None) -> Decomposition:
    """A draw of the estimator seen by a network, or by a bare tensor."""
    return estimator.draw(order, dimension, 0 if view is None else view.width, key).at(view)


def jet_of(model: Model, x, mu, decomposition: Decomposition, order: int, collapsed: bool) -> Jet:
    """The jet of N along the directions."""
    first = decomposition.directions.through(model.lift.weight)
    return model.read(linear_jet(model.lift(x), first, order, collapsed, decomposition.weights), mu)


def value_of(model: Model, x, mu):
    """N(x; μ)."""
    return model.read(point_jet(model.lift(x)), mu).value


def close(actual, expected, tolerance: float = 1e-10, name: str = "") -> None:
    """Equal up to `tolerance` of the largest entry. 1e-10 leaves room for some thousand roundings of float64 and
    for the digits that high derivatives cancel, and is far below the effect of any wrong term."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(np.max(np.abs(expected)), 1e-300), err_msg=name
    )
