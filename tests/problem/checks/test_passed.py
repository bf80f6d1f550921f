"""A family that passed the checks is known again by what JAX traces of it, and by nothing less."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import FAMILIES, KEY, TWO_BODY_FAMILIES, by_name, mostly_slow

import prism
from prism.problem.checks import family as checks
from prism.problem.checks import passed
from prism.problem.checks.traces import check_traces


@jax.custom_jvp
def ruled(z):
    """Its derivative is what the rule says, which its trace does not show."""
    return z


ruled.defjvps(lambda tangent, answer, z: tangent)


def called(z):
    call = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), z.dtype), z, vmap_method="sequential")
    return jax.lax.stop_gradient(call)


class Own(prism.Family):
    """Δu = k·weight in a ball."""

    domain: prism.Ball
    weight: float = 1.0
    parameters = prism.Uniform(k=(0.5, 2.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - self.weight * mu.k

    def constraint(self):
        return prism.vanishing(self.domain)


def other(**members) -> prism.Family:
    return type("Own", (Own,), {"__module__": __name__, **members})(prism.Ball(3))


KINKED = prism.HardConstraint(factor=lambda x, mu: 1.0 - jnp.sum(x * x), offset=lambda x, mu: jnp.maximum(x[0], 0.0))
ALLOWED = prism.HardConstraint(KINKED.factor, KINKED.offset, allow_kinks=True)
OTHERS = {
    "another number": lambda: Own(prism.Ball(3), 2.0),
    "another array": lambda: other(residual=lambda self, u, x, mu: u.lap - mu.k * jnp.sum(jnp.ones(2))),
    "another ball": lambda: Own(prism.Ball(3, 2.0)),
    "another dimension": lambda: Own(prism.Ball(4)),
    "other bounds": lambda: other(parameters=prism.Uniform(k=(0.5, 3.0))),
    "another law": lambda: other(parameters=prism.LogUniform(k=(0.5, 2.0))),
    "another name": lambda: other(
        parameters=prism.Uniform(kappa=(0.5, 2.0)), residual=lambda s, u, x, mu: u.lap - mu.kappa
    ),
    "an exact solution": lambda: other(exact=lambda self, x, mu: mu.k * (jnp.sum(x * x) - 1.0) / 6.0),
    "another constraint": lambda: other(constraint=lambda self: prism.Free()),
    "a kink that is allowed": lambda: other(constraint=lambda self: ALLOWED),
}


def digest(family: prism.Family, key=KEY) -> str | None:
    return passed.digest_of(family, check_traces(family, key), key)


def test_the_digest_is_of_the_mathematics():
    own = digest(Own(prism.Ball(3)))
    assert own is not None
    assert own == digest(Own(prism.Ball(3))) == digest(other(residual=lambda self, v, y, m: v.lap - 1.0 * m.k))
    assert own != digest(Own(prism.Ball(3)), jax.random.key(1))


def test_whatever_the_checks_look_at_makes_another_digest():
    digests = [digest(Own(prism.Ball(3))), *(digest(build()) for build in OTHERS.values())]
    assert None not in digests
    assert len(set(digests)) == len(digests)
    assert digest(other(constraint=lambda self: KINKED)) != digests[-1]  # the same functions, which are looked at


def test_other_checks_make_another_digest(monkeypatch):
    own = digest(Own(prism.Ball(3)))
    monkeypatch.setattr(passed, "_version_of_checks", lambda: "others")
    assert digest(Own(prism.Ball(3))) != own


sine_of_another_slope = jax.custom_jvp(jnp.sin)
sine_of_another_slope.defjvps(lambda tangent, answer, z: 2.0 * tangent)


@pytest.mark.parametrize("term", [ruled, called, sine_of_another_slope, jax.checkpoint(ruled)])
def test_what_a_trace_does_not_show_is_never_remembered(term):
    family = other(residual=lambda self, u, x, mu: u.lap - mu.k * x[0])
    trace = jax.make_jaxpr(lambda x: term(x[0]))(jnp.ones(3))
    assert passed.digest_of(family, {"residual": trace}, KEY) is None


def test_which_function_is_which_and_what_a_term_is_count():
    wrong = lambda self, x, mu: jnp.sum(x)
    assert digest(other(exact=wrong)) != digest(other(affine=wrong))
    terms = {"a": prism.Laplacian(), "b": prism.GradientNormSquared()}
    exchanged = {"b": prism.Laplacian(), "a": prism.GradientNormSquared()}
    residual = lambda self, u, x, mu: u.a + u.b - mu.k
    assert digest(other(terms=terms, residual=residual)) != digest(other(terms=exchanged, residual=residual))


CATALOGUE = by_name(FAMILIES[:1] + FAMILIES[len(TWO_BODY_FAMILIES) :])


@pytest.mark.parametrize("family", mostly_slow(CATALOGUE, "AllenCahn-plain", "ReactionDiffusion", "KP"))
def test_families_of_the_catalogue_are_remembered(family):
    """Functions of PRISM with rules of their own are as fixed as its version."""
    assert digest(family) is not None


def test_what_passed_is_not_tried_again_and_what_failed_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path))
    tried = []
    real = checks.check_values
    monkeypatch.setattr(checks, "check_values", lambda family, key: tried.append(family) or real(family, key))
    for _ in range(2):
        checks.check_family(Own(prism.Ball(3)), KEY)
    assert len(tried) == 1
    wrong = other(exact=lambda self, x, mu: jnp.sum(x))
    for _ in range(2):
        with pytest.raises(prism.errors.InputError, match="does not solve its equation"):
            checks.check_family(wrong, KEY)
    assert len(tried) == 3
    assert [entry.name for entry in (tmp_path / passed.DIRECTORY).iterdir()] == [digest(Own(prism.Ball(3)))]


def test_the_oldest_are_forgotten_and_files_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(passed, "MOST_REMEMBERED", 3)
    (tmp_path / passed.DIRECTORY).mkdir()
    (tmp_path / passed.DIRECTORY / "notes.txt").touch()
    for number in range(6):
        passed.remember_passed(f"{number:064x}")
    kept = {entry.name for entry in (tmp_path / passed.DIRECTORY).iterdir()}
    assert len(kept) == 4
    assert {"notes.txt", f"{5:064x}"} <= kept


@pytest.mark.parametrize("place", ["off", "a file", "x" * 300])
def test_without_a_place_everything_is_checked(tmp_path, monkeypatch, place):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("PRISM_CACHE_DIR", place if place == "off" else str(tmp_path / place))
    passed.remember_passed("0" * 64)
    assert not passed.passed_before("0" * 64)
