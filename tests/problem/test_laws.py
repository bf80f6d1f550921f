"""Points drawn by other laws than a domain's own. Statistics run under a fixed key, within four standard errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import DOMAINS, KEY, LAWS, close, linear, mostly_slow, samples, uniform_distance
from solution.networks import random_network

import prism
from prism import (
    AtTime,
    Ball,
    Cube,
    DiffusionPaths,
    EvaluationLaw,
    InputError,
    Mixture,
    Near,
    OwnLaw,
    Sphere,
    TimeCylinder,
    UniformInVolume,
    WholeSpace,
)
from prism.families import AllenCahnTime, SineGordon
from prism.networks.model import Architecture
from prism.problem.laws import evaluated_by
from prism.solution.solution import Solution

SMALL = Architecture(linear(3), 3, 2, 3, 1)
COUNT = 4000
CYLINDER = TimeCylinder(Ball(4, 1.5), 2.0)


def drawn(law, domain, kappa: float = 0.0, count: int = COUNT):
    """Points of the domain by a law, for an equation of this diffusivity. Its units are not measured."""
    with jax.ensure_compile_time_eval():
        draw = jax.vmap(lambda key: law.draw(domain, key, jnp.asarray(kappa)))
        return np.asarray(draw(jax.random.split(KEY, count)))


def trained(domain, kappa: float = 0.0, count: int = COUNT):
    """Points to train on."""
    return drawn(OwnLaw(), domain, kappa, count)


def agrees(values, expected: float) -> bool:
    """The mean is as expected, within four standard errors."""
    return abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))


@pytest.mark.parametrize("law", mostly_slow(LAWS, "evaluation", "sampler", "mixture"))
def test_every_law_draws_points_of_the_domain_and_leaves_the_rest(law):
    domain = CYLINDER.drawn_by(law, evaluation=EvaluationLaw())
    start = AtTime(domain, 0.5)
    for points in (trained(domain, 0.7, 50), trained(start, 0.7, 50)):
        assert points.shape == (50, 5)
        assert np.all(np.linalg.norm(points[:, :-1], axis=1) <= 1.5 * (1.0 + 1e-12))
        assert np.all((points[:, -1] >= 0.0) & (points[:, -1] <= 2.0))
    assert np.all(trained(start, 0.7, 50)[:, -1] == 0.5)
    assert np.all(np.asarray(samples(domain, 5)) == np.asarray(samples(CYLINDER, 5)))
    for name in ("dimension", "coordinates", "time_horizon", "ball_radius", "bounds", "region", "horizon", "space"):
        assert getattr(domain, name) == getattr(CYLINDER, name), name
    close(domain.centre(), CYLINDER.centre())
    close(domain.clipped(jnp.full(5, 9.0)), CYLINDER.clipped(jnp.full(5, 9.0)))
    close(domain.volume_point(KEY), CYLINDER.volume_point(KEY))
    with pytest.raises(AttributeError, match="low"):
        _ = domain.low


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_the_own_law_draws_the_own_points(domain):
    """Bit for bit; with errors measured as before where that is asked."""
    redrawn = domain.drawn_by(OwnLaw(), evaluation=EvaluationLaw())
    assert np.all(trained(redrawn, 0.5, 20) == trained(domain, 0.5, 20))
    assert np.all(np.asarray(samples(redrawn, 20)) == np.asarray(samples(domain, 20)))
    assert np.all(
        redrawn.diffused_training_point(KEY, jnp.ones(())) == domain.diffused_training_point(KEY, jnp.ones(()))
    )
    assert (redrawn.spread, redrawn.norm_spread) == (domain.spread, domain.norm_spread)


@pytest.mark.parametrize("domain", [Ball(4, 1.5), TimeCylinder(Ball(4, 1.5), 2.0)], ids=["ball", "cylinder"])
def test_uniform_in_volume(domain):
    """(|x|/R)^d is uniform, no direction is preferred, and t is uniform apart from x."""
    points = drawn(UniformInVolume(), domain)
    radius = np.linalg.norm(points[:, :4], axis=1)
    assert uniform_distance((radius / 1.5) ** 4) < 1.95
    units = points[:, :4] / radius[:, None]
    # Entries of unit vectors are at most 1, so an entry of the mean deviates by at most 1/√count; 4 of those.
    assert np.max(np.abs(units.mean(axis=0))) < 4 / np.sqrt(COUNT)
    if domain.time_horizon is not None:
        assert uniform_distance(points[:, -1] / 2.0) < 1.95
        assert abs(np.corrcoef(points[:, -1], radius)[0, 1]) < 4 / np.sqrt(COUNT)


def test_a_cube_is_its_own_volume():
    cube = Cube(3, -2.0, 1.0)
    assert np.all(drawn(UniformInVolume(), cube, count=9) == np.asarray(samples(cube, 9)))


@pytest.mark.parametrize(("in_time", "moves"), [(None, 0.3), (0.05, 0.05), (0.0, 0.0)])
def test_near_is_normal_about_rows_that_are_equally_frequent(in_time, moves):
    rows = jnp.asarray([[1.0, 2.0, 1.0], [-3.0, 0.0, 1.0], [5.0, 5.0, 1.0]])
    # A horizon of 4 deviations on either side clips one time in ten thousand.
    points = drawn(Near(rows, 0.3, in_time), TimeCylinder(WholeSpace(2), 2.5))
    nearest = np.argmin(np.linalg.norm(points[:, None, :2] - np.asarray(rows)[None, :, :2], axis=2), axis=1)
    for row in range(3):
        assert agrees(nearest == row, 1 / 3)
    offsets = points - np.asarray(rows)[nearest]
    for column, deviation in zip(offsets.T, (0.3, 0.3, moves), strict=True):
        assert abs(column.mean()) <= 4 * deviation / np.sqrt(COUNT)
        # The standard deviation of a sample of normals is known to 1/√(2·count) of itself.
        assert abs(column.std() - deviation) <= 4 * deviation / np.sqrt(2 * COUNT)


def test_near_stays_in_the_domain():
    """Asked at x = 0, t = 0: half of the points have t = 0, none is before."""
    points = drawn(Near(jnp.zeros(4), 0.1), TimeCylinder(Ball(3, 0.2), 1.0))
    assert np.all(np.linalg.norm(points[:, :-1], axis=1) <= 0.2 * (1.0 + 1e-12))
    assert agrees(points[:, -1] == 0.0, 0.5)
    assert np.all(points[:, -1] >= 0.0)
    close(np.linalg.norm(drawn(Near(jnp.ones(3), 0.1), Sphere(3, 2.0), count=50), axis=1), np.full(50, 2.0))


@pytest.mark.parametrize("weights", [(1.0, 2.0, 1.0), (0.0, 0.3, 0.7), (0.3, 0.7, 0.0)])
def test_a_mixture_has_the_shares_that_are_given(weights):
    """Three laws that never meet, the second of which is OwnLaw."""
    laws = [Near(jnp.full(2, 100.0), 0.1), OwnLaw(), lambda key: jax.random.uniform(key, (2,)) - 50.0]
    points = drawn(Mixture(laws, weights), WholeSpace(2, inwards=0.0))
    groups = points[:, 0] > 90.0, np.abs(points[:, 0]) < 10.0, points[:, 0] < -40.0
    for group, weight in zip(groups, weights, strict=True):
        share = weight / sum(weights)
        assert abs(group.mean() - share) <= 4 * np.sqrt(share * (1 - share) / COUNT)
    own = points[groups[1]][:, 0]
    assert abs(own.mean()) < 4 / np.sqrt(len(own))


def test_one_law_is_a_mixture():
    points = drawn(Mixture([UniformInVolume()], [2.0]), Ball(3))
    assert uniform_distance(np.linalg.norm(points, axis=1) ** 3) < 1.95


@pytest.mark.parametrize(
    ("domain", "law", "spread", "norm_spread"),
    [
        (WholeSpace(50), Near(jnp.zeros(50), 2.0), 2.0, (2 / 50) ** 0.5),
        (Ball(100), UniformInVolume(), (1 / 102) ** 0.5, 2 / 100),
        (
            TimeCylinder(WholeSpace(50), 1.0),
            Mixture([EvaluationLaw(), Near(jnp.zeros(51), 0.0)], [1, 1]),
            0.5**0.5,
            1.04,
        ),
        (Cube(50), lambda key: 0.5 + jnp.full(50, 0.1), 0.1, 1.0),
    ],
    ids=["normal", "volume", "half at the origin", "constant"],
)
def test_units_follow_the_law_of_training(domain, law, spread, norm_spread):
    """Measured on 1,000 points: means of |x|² of relative deviation 1 or less are known to 3 %, their deviations to
    5 %; the spread is a root. 4 of those."""
    redrawn = domain.drawn_by(law, evaluation=EvaluationLaw())
    assert abs(redrawn.spread / spread - 1.0) < 4 * 0.016
    assert abs(redrawn.norm_spread / norm_spread - 1.0) < 4 * 0.05


@pytest.mark.slow
def test_units_are_those_of_single_precision_everywhere():
    """A solution that was stored in one precision finds its units in another."""
    law = lambda: Mixture([OwnLaw(), Near(np.full(4, 0.1), 0.2)], [0.5, 0.5])
    with jax.enable_x64(False):
        single = Ball(4).drawn_by(law()).spreads
    assert Ball(4).drawn_by(law()).spreads == single
    assert float(jax.jit(lambda: jnp.asarray(Ball(4).drawn_by(law()).spread))()) == single[0]


@pytest.mark.slow
def test_points_wander_by_the_own_law_alone():
    """E |x|²/d = 1 + 2κ(T − t) E[part³] for OwnLaw, with E[T − t] = 1/2 and E[part³] = 1/4: 1.5 where
    κ = 2; 1 for other laws, and the mean of both for half of each."""
    space, half = WholeSpace(100, inwards=0.0), Mixture([OwnLaw(), EvaluationLaw()], [0.5, 0.5])
    for domain, expected in (
        (TimeCylinder(space.drawn_by(half), 1.0), 1.25),
        (TimeCylinder(space.drawn_by(EvaluationLaw()), 1.0), 1.0),
        (TimeCylinder(space, 1.0).drawn_by(half), 1.25),
    ):
        assert agrees(np.mean(trained(domain, 2.0, 1000)[:, :-1] ** 2, axis=1), expected), domain


def test_one_time_of_an_own_law_wanders_as_that_time_asks():
    """At t = 0 of a forward equation the whole horizon is left: E |x|²/d = 1 + 2κT/4."""
    cylinder = TimeCylinder(WholeSpace(100, inwards=0.0), 2.0).drawn_by(Mixture([OwnLaw()], [1.0]))
    assert agrees(np.mean(trained(AtTime(cylinder, 0.0), 0.5, 1000)[:, :-1] ** 2, axis=1), 1.5)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: WholeSpace(3).drawn_by(UniformInVolume()), "WholeSpace has no finite volume .* give OwnLaw"),
        (lambda: Sphere(3).drawn_by(UniformInVolume()), "Sphere has no finite volume"),
        (lambda: DiffusionPaths(3).drawn_by(UniformInVolume()), "DiffusionPaths has no finite volume"),
        (lambda: TimeCylinder(WholeSpace(3)).drawn_by(OwnLaw(), UniformInVolume()), "WholeSpace has no finite volume"),
        (lambda: Ball(3).drawn_by(UniformInVolume), r"raised .*; give a law such as prism.OwnLaw\(\)"),
        (lambda: Ball(3).drawn_by(lambda key: jnp.zeros(4)), r"shape \(4,\); .* key -> point of shape \(3,\)"),
        (lambda: CYLINDER.drawn_by(OwnLaw(), lambda key: jnp.zeros(4)), r"of shape \(5,\), time last"),
        (lambda: Ball(3).drawn_by(Mixture([OwnLaw(), lambda key: key.nothing], [1, 1])), "raised AttributeError"),
        (lambda: Ball(3).drawn_by(Near(jnp.zeros(4), 0.1)), "Near has points of 4 coordinates; .* have 3"),
        (lambda: CYLINDER.drawn_by(Near(jnp.zeros(4), 0.1)), "those of this domain have 5, time last"),
        (lambda: Ball(3).drawn_by(Near(jnp.zeros(3), 0.0)), "distance to the centre of the domain is 0"),
        (lambda: Ball(3).drawn_by(lambda key: jnp.full(3, jnp.nan)), "distance to the centre of the domain is nan"),
        (lambda: Near(jnp.zeros((2, 2, 2)), 0.1), r"points of shape \(2, 2, 2\)"),
        (lambda: Near(jnp.zeros((0, 3)), 0.1), r"points of shape \(0, 3\)"),
        (lambda: Near([0.0, float("nan")], 0.1), "give finite numbers"),
        (lambda: jax.jit(lambda x: Near(x, 0.1).points)(jnp.zeros(3)), "only known later"),
        (lambda: Near(jnp.zeros(3), -0.1), "the deviation of Near is -0.1"),
        (lambda: Near(jnp.zeros(3), 0.1, float("inf")), "the time_deviation of Near is inf"),
        (lambda: Mixture([OwnLaw()], [0.5, 0.5]), "a mixture of 1 laws has 2 weights"),
        (lambda: Mixture([OwnLaw(), OwnLaw()], [0.5, -0.5]), "none negative and not all zero"),
        (lambda: Mixture([OwnLaw()], [0.0]), "none negative and not all zero"),
        (lambda: Mixture([], []), "none negative and not all zero"),
        (lambda: AtTime(Ball(3)), "AtTime needs a domain with time"),
    ],
)
def test_what_cannot_be_drawn_is_refused(build, message):
    with pytest.raises(InputError, match=message):
        build()


class Growing(prism.Family):
    """Δu = 2dμ: u = μ|x|²."""

    domain: prism.Domain
    parameters = prism.Uniform(mu1=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - 2.0 * self.domain.dimension * mu.mu1

    def exact(self, x, mu):
        return mu.mu1 * jnp.sum(x * x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prism.NotSolved", "ignore::prism.BeyondTraining")  # a few steps
def test_a_family_is_solved_and_stored_under_another_law(tmp_path):
    law = Mixture([UniformInVolume(), Near(jnp.zeros((2, 3)), 0.1)], [1, 1])
    family = Growing(Ball(3).drawn_by(law, evaluation=EvaluationLaw()))
    solution = prism.solve(
        family, steps=2, architecture=SMALL, sampling=prism.Sampling(8, 8), optimiser=prism.Adam(), progress=False
    )
    solution.save(tmp_path / "stored")
    again = prism.load(tmp_path / "stored", family)
    assert np.all(np.asarray(again(jnp.ones((2, 3)), mu1=1.0)) == np.asarray(solution(jnp.ones((2, 3)), mu1=1.0)))


@pytest.mark.slow
def test_errors_are_measured_where_the_law_draws():
    """A catalogued family, whose domain is a field of its own type; the law of training is left as it is."""
    family = SineGordon.create(4, KEY)
    measured = evaluated_by(family, Near(jnp.zeros(4), 0.01))
    assert np.all(np.linalg.norm(samples(measured.domain, 50), axis=1) < 0.1)
    assert np.all(trained(measured.domain, count=20) == trained(family.domain, count=20))
    solution = Solution(random_network(family, SMALL), family)
    at_origin, own = solution.evaluate(points=100, law=lambda key: jnp.zeros(4)), solution.evaluate(points=100)
    assert at_origin.relative_l2 != own.relative_l2
    assert solution.evaluate(points=100, law=EvaluationLaw()) == own


def test_what_cannot_be_measured_under_a_law_is_refused():
    class Fixed(prism.Family):
        domain = Ball(3)
        parameters = prism.Uniform(mu1=(0.5, 1.5))
        terms = {"lap": prism.Laplacian()}

        def residual(self, u, x, mu):
            return u.lap

    with pytest.raises(InputError, match="Fixed has its domain fixed in the class"):
        evaluated_by(Fixed(), OwnLaw())
    known = AllenCahnTime.create(4, KEY)
    solution = Solution(random_network(known, SMALL), known)
    with pytest.raises(InputError, match="known at some points alone, and measured there; leave out the law"):
        solution.evaluate(law=OwnLaw())


def test_a_law_of_the_users_own():
    class Shell(prism.Law):
        """|x| = radius."""

        radius: float

        def draw(self, domain, key, diffusivity):
            return self.radius * Sphere(domain.dimension).sample(key)

    domain = Ball(3).drawn_by(Shell(0.5))
    close(np.linalg.norm(trained(domain, count=20), axis=1), np.full(20, 0.5))
    assert domain.norm_spread == 1.0
    with pytest.raises(InputError, match="the law Shell gives an array of shape"):
        TimeCylinder(Ball(3)).drawn_by(Shell(0.5))
