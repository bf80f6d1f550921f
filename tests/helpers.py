"""Everything that can be chosen, listed once, so that each new choice faces the same tests; and their oracles.

The oracle for a network is its formula written out; the oracle for a derivative is nested `jax.jvp` of that.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
    KP,
    AllenCahn,
    AllenCahnTime,
    ClampedBiharmonic,
    Convection,
    ConvectionDiffusion,
    GKdV,
    Heat,
    HJBLog,
    HJBRosenbrock,
    KdV2D,
    Poisson,
    Reaction,
    ReactionDiffusion,
    SineGordon,
    SineGordonBeta,
    SineGordonTime,
    SineGordonTimeBeta,
)
from prism.families.two_body import InteractionFamily
from prism.networks.lifts.blocks import BlockChannels
from prism.networks.lifts.lift import Lift
from prism.networks.lifts.norm import SquaredNorm
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Part, Parts, Quadratic, Sites
from prism.networks.lifts.quadratic import LearnedForms
from prism.networks.lifts.sites import SiteSums
from prism.networks.lifts.time import TimeChannel
from prism.networks.model import Architecture, Model
from prism.networks.modulation import CONCAT, FILM, NONE, SCALE, SHIFT, ModulationSettings
from prism.objective.residuals import network_derivatives, place_of
from prism.problem.boxes import Box, Faces
from prism.problem.constraints import Constraint, HardConstraint, vanishing
from prism.problem.domains import Ball, Cube, Domain, Sphere, WholeSpace
from prism.problem.family import Family
from prism.problem.laws import EvaluationLaw, Mixture, Near, OwnLaw, UniformInVolume
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.points import Sampler
from prism.problem.terms import draw_directions
from prism.problem.time_domains import AtTime, DiffusionPaths, TimeCylinder

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
    "paths": DiffusionPaths(3, 0.5),
    "box": Box((-1.0, 0.0, 2.0), (1.0, 3.0, 2.5)),
    "faces": Faces(TimeCylinder(Box((-1.0, 0.0, 2.0), (1.0, 3.0, 2.5)), 2.0), 1),
}

LAWS = {
    "own": OwnLaw(),
    "evaluation": EvaluationLaw(),
    "volume": UniformInVolume(),
    "near": Near(jnp.full((3, 5), 0.5), 0.2),
    "sampler": Sampler(lambda key: 0.1 * jax.random.uniform(key, (5,))),
    "mixture": Mixture([OwnLaw(), UniformInVolume(), Near(jnp.zeros(5), 0.1), OwnLaw()], [1.0, 2.0, 1.0, 1.0]),
}
"""For points of four space coordinates and time."""

TWO_BODY_FAMILIES = tuple(
    kind.create(D, KEY, scaled=scaled)
    for kind in (AllenCahn, Poisson, SineGordon, SineGordonBeta)
    for scaled in (False, True)
)
BIHARMONIC = ClampedBiharmonic.create(D, KEY, scaled=True)
EVOLUTION_FAMILIES = tuple(
    kind.create(D, KEY) for kind in (Convection, Reaction, ConvectionDiffusion, ReactionDiffusion)
)
SOLITON_FAMILIES = tuple(kind.create() for kind in (KdV2D, KP, GKdV))
FAMILIES = (*TWO_BODY_FAMILIES, BIHARMONIC, *EVOLUTION_FAMILIES, *SOLITON_FAMILIES)
"""Those that know their solution to rounding."""
CONTROL_FAMILIES = (HJBLog.create(40, KEY), HJBRosenbrock.create(40, KEY))
SEMILINEAR_FAMILIES = tuple(kind.create(D, KEY) for kind in (Heat, SineGordonTime, SineGordonTimeBeta, AllenCahnTime))

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


def swirl(x, mu):
    return mu.mu1 * jnp.roll(x, 1) - jnp.cos(mu.mu2 * x)


def operators(ball: Ball, cylinder: TimeCylinder) -> tuple[Case, ...]:
    """All of them, on a ball and on a cylinder over one of the same dimension."""
    d = ball.dimension
    narrow, wide = (np.random.default_rng(0).normal(size=(d, columns)) for columns in (d - 1, d + 1))

    def diagonal_sigma(x, mu):
        return 1.0 + mu.mu1 * jnp.sin(x[:d]) ** 2

    def narrow_sigma(x, mu):
        return jnp.asarray(narrow) * (1.0 + mu.mu2 * x[:d, None] ** 2)

    def wide_sigma(x, mu):
        return jnp.asarray(wide) * (1.0 + mu.mu2 * x[:d, None] ** 2)

    return (
        Case(Laplacian(), ball, d),
        Case(Laplacian(), cylinder, d),
        Case(GradientNormSquared(), ball, d),
        Case(GradientNormSquared(), cylinder, d),
        Case(Biharmonic(), ball, d),
        Case(WeightedTrace(diagonal_sigma), ball, d),
        Case(WeightedTrace(diagonal_sigma), cylinder, d),
        Case(WeightedTrace(narrow_sigma), ball, d - 1),
        Case(WeightedTrace(wide_sigma), ball, d + 1),
        Case(Partial(1), ball),
        Case(Partial(0, 3), ball),
        Case(Partial(0, 0, 1), ball),
        Case(Partial(2, 0, 4), ball),
        Case(Partial(1, 1, 1, 1), ball),
        Case(Partial(0, 0, 1, 1), ball),
        Case(Partial(0, 0, 0, 1), ball),
        Case(Partial(0, 0, d, d), cylinder),
        Case(Partial(0, 0, 0, 2, 2, 4), ball),
        Case(TimeDerivative(), cylinder),
        Case(TimeDerivative(2), cylinder),
        Case(Directional(swirl), ball),
        Case(Directional(swirl), cylinder),
    )


BALL, CYLINDER = Ball(D, 1.2), TimeCylinder(Ball(D), 2.0)
OPERATORS = operators(BALL, CYLINDER)


def name_of(thing) -> str:
    """A short name for pytest."""
    if isinstance(thing, Case):
        return f"{name_of(thing.operator)}-{type(thing.domain).__name__}"
    if isinstance(thing, InteractionFamily):
        return f"{type(thing).__name__}-{'scaled' if thing.interaction.stretch > 1 else 'plain'}"
    if isinstance(thing, Family):
        return type(thing).__name__
    if isinstance(thing, WeightedTrace):
        return f"WeightedTrace({thing.sigma.__name__})"
    if isinstance(thing, Directional):
        return f"Directional({thing.velocity.__name__})"
    if isinstance(thing, Partial):
        return "u_" + "".join("xyzpqrst"[axis] for axis in thing.axes)
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


def linear(width: int, affine: int = 4) -> Part | Parts:
    """A lift of dense and affine channels alone."""
    return Dense(width) + Affine(affine) if affine else Dense(width)


FEW = linear(2, 1)
WIDER = 7
"""Dimensions in which `Gram` has directions of its own for each of these lifts."""
SITES = Sites(2, features=2, hidden=3)
LIFTS: dict[str, Part | Parts] = {
    "dense": Dense(2),
    "affine": Dense(2) + Affine(1),
    "norm": Norm(),
    "weighted norm": Dense(1) + Norm((0.5, -1.0, 0.0, 2.0, 1.0, 0.0, -0.3)),
    "form": Dense(1) + Norm((0.5, 1.0, 0.2, 2.0, 1.0, 0.7, 0.3), (0.3, -0.2, 0.1, 0.4, -0.5, 0.2)),
    "logarithmic norm": Norm() + Norm(logarithmic=True),
    "sites": SITES,
    "bent sites": replace(SITES, window=3, channels=2, bent=True),
    "periodic sites": replace(SITES, shared=True, periodic=True),
    "exchangeable sites": replace(SITES, window=1, shared=True),
    "sites over groups": Affine(1) + replace(SITES, groups=((0, 3), (5, 1), (6, 5))),
    "one place": Dense(1) + replace(SITES, groups=((4, 1),)),
    "blocks": Affine(1) + Blocks(3, 2),
    "quadratic": Affine(1) + Quadratic(3, 2),
    "quadratic over pairs": Dense(1) + Quadratic(2, 1, groups=((0, 3), (5, 1))),
    "periodic quadratic": Quadratic(2, 2, periodic=True),
    "squares": Affine(1) + Quadratic(1, 1),
    "sum": Dense(1) + Affine(1) + Norm() + SITES,
}
"""Every part alone or beside others, small."""


@functools.cache
def small_model(
    domain: Domain,
    modulation: ModulationSettings = FILM,
    depth: int = 2,
    parameters=None,
    lift: Part | Parts = FEW,
) -> Model:
    """A network whose arrays are all random and whose lift is steep, with so few channels that `Gram` has directions of
    its own in D dimensions."""
    architecture = Architecture(lift, 5, depth, 4, 2, modulation)
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
    layers = len(manifold.weights) + 1
    behind = sum(generator.widths[:layers])
    z, skipping = lift_formula(model.lift, x, gamma[behind:], beta[behind:])
    rest, start = jnp.zeros(()), 0
    if generator.factor_offset is not None:
        q = generator.factor_offset
        q = q if generator.factor_head is None else q + embedding @ generator.factor_head
        rest = q @ skipping
    for index, width in enumerate(generator.widths[:layers]):
        h = gamma[start : start + width] * z + beta[start : start + width]
        h = h if index == 0 and manifold.linear_lift else sigma(h)
        start += width
        if index < len(manifold.weights):
            z = manifold.weights[index] @ h + manifold.biases[index]
    return model.level + model.amplitude * (h @ manifold.readout + manifold.offset + rest)


def lift_formula(lift: Lift, x, gamma, beta) -> tuple:
    """z written out: the channels that are bent, and those that skip the manifold; γ and β of its own layers."""
    linear = x @ lift.weight + lift.bias
    dense = linear.shape[0] - lift.affine
    bent, skipping = [linear[:dense]], [linear[dense:]]
    for group in lift.groups:
        match group:
            case SquaredNorm(part=part):
                space = x[: group.dimension]
                weights = jnp.ones(group.dimension) if part.weights is None else jnp.asarray(part.weights)
                s = jnp.sum(weights * space**2)[None]
                if part.neighbours is not None:
                    s = s + jnp.sum(jnp.asarray(part.neighbours) * space[1:] * space[:-1])
                bent.append(((jnp.log(group.smallest + s) if part.logarithmic else s) - group.mean) / group.spread)
            case TimeChannel():
                bent.append((x[-1:] - group.horizon / 2) / (group.horizon / math.sqrt(12.0)))
            case BlockChannels(part=part):
                rows = [group.pattern[i % part.size] * group.weight[i // part.size] for i in range(group.dimension)]
                bent.append(x @ jnp.stack([*rows, *group.weight[group.blocks :]]) + group.bias)
            case LearnedForms(part=part):
                y, d = (x[: group.dimension] - group.centre) / group.unit, group.dimension
                near = [(i, i + k) for k in range(1, part.window) for i in range(d if part.periodic else d - k)]
                products = [
                    y[i] * y[j % d] * row for (i, j), row in zip(part.groups or near, group.products, strict=True)
                ]
                whole = sum([y[i] ** 2 * row for i, row in enumerate(group.squares)] + products, start=jnp.zeros(()))
                skipping.append(whole / d**0.5)
            case SiteSums(part=part):
                own = part.hidden + part.features
                channels = sites_formula(group, x, gamma[:own], beta[:own])
                gamma, beta = gamma[own:], beta[own:]
                (bent if part.bent or (part.bent is None and part.shared) else skipping).append(channels)
    return jnp.concatenate(bent), jnp.concatenate(skipping)


def sites_formula(group: SiteSums, x, gamma, beta):
    """Σ_i A_i·(φ(y_i; μ) − φ(0; μ)), one place after the other."""
    part, network, d = group.part, group.network, group.dimension
    last = d if part.periodic else d - part.window + 1
    places = part.groups or [[(i + k) % d for k in range(part.window)] for i in range(last)]
    time = [] if group.horizon is None else [2.0 * x[-1] / group.horizon - 1.0]

    def phi(y):
        h = jnp.tanh(gamma[: part.hidden] * (y @ network.first + network.first_bias) + beta[: part.hidden])
        return jnp.sin(gamma[part.hidden :] * (h @ network.second + network.second_bias) + beta[part.hidden :])

    def at(place, coefficients):
        y = jnp.stack([*[(x[place[k]] - group.centre) / group.unit for k in range(part.window)], *time])
        return (phi(y) - phi(jnp.zeros(y.shape))) @ coefficients

    of_place = None if part.shared else 0
    return jnp.sum(jax.vmap(at, (0, of_place))(jnp.asarray(places), group.coefficients), axis=0)


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
    draws = draw_directions(family, estimator, place_of(model, family, x, mu), key)
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
    """The jet of N along the directions, for a lift that is linear."""
    first = decomposition.directions.through(model.lift.weight)
    return model.read(linear_jet(model.lift_point(x, mu), first, order, collapsed, decomposition.weights), mu)


def value_of(model: Model, x, mu):
    """N(x; μ)."""
    return model.read(point_jet(model.lift_point(x, mu)), mu).value


def close(actual, expected, tolerance: float = 1e-10, name: str = "") -> None:
    """Equal up to `tolerance` of the largest entry. 1e-10 leaves room for some thousand roundings of float64 and
    for the digits that high derivatives cancel, and is far below the effect of any wrong term."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(np.max(np.abs(expected)), 1e-300), err_msg=name
    )


def by_name(cases: Iterable[Any]) -> dict[str, Any]:
    """Each case by its short name."""
    return {name_of(case): case for case in cases}


def mostly_slow(cases: Mapping[str, Any], *fast: str) -> list[Any]:
    """Arguments for `parametrize`, with their names as ids; all but those named in `fast` are marked slow."""
    assert set(fast) <= cases.keys(), f"no such cases: {sorted(set(fast) - cases.keys())}"
    given = lambda case: case if isinstance(case, tuple) else (case,)
    marks = lambda name: () if name in fast else pytest.mark.slow
    return [pytest.param(*given(case), id=name, marks=marks(name)) for name, case in cases.items()]
