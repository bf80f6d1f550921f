"""What an equation tells of its coordinates, found again where it was put in."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY

import prism
from prism.families import SineGordon
from prism.problem import structure
from prism.problem.structure import Kind, UnknownStructure, find_structure

D = 40


def found(pairs: str, scaled: bool = True):
    return find_structure(SineGordon.create(D, KEY, scaled, pairs=pairs))


@pytest.mark.parametrize("scaled", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_chain_is_found(scaled):
    seen = found("chain", scaled)
    assert (seen.kind, seen.window, seen.periodic) == (Kind.CHAIN, 2, False)
    assert (seen.contrast or 0.0) > 4.0


def test_random_pairs_are_found():
    family = SineGordon.create(D, KEY, True, pairs="random")
    true = {tuple(pair) for pair in family.interaction.pairs.tolist()}
    structure = find_structure(family)
    assert structure.kind is Kind.PAIRS
    assert len(true & set(structure.pairs)) > 0.75 * len(true)
    assert len(set(structure.pairs) - true) < 0.05 * len(true)


@pytest.mark.parametrize(("pairs", "kind", "probed"), [("chain", Kind.CHAIN, 16), ("random", Kind.PAIRS, D)])
def test_many_coordinates_are_sampled_first(monkeypatch, pairs, kind, probed):
    """And all are looked at only where pairs are to be named."""
    monkeypatch.setattr(structure, "WHOLE_MATRIX_UP_TO", D - 1)
    monkeypatch.setattr(structure, "ROW_COORDINATES", 0)
    seen = found(pairs)
    assert (seen.kind, seen.probed, seen.matrix) == (kind, probed, None)


def test_what_no_two_coordinates_differ_in():
    assert found("all").kind is Kind.EXCHANGEABLE
    assert found("none", scaled=False).kind is Kind.NORM


class Sourced(prism.Family):
    """Δu = f in a cube for a source of one's own."""

    domain: prism.Cube
    source: object
    parameters: ClassVar = prism.Uniform(mu=(0.5, 1.5))
    terms: ClassVar = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - self.source(x, mu)


SOURCES = {
    "sum": (lambda x, mu: jnp.sum(jnp.arange(1.0, D + 1) * jnp.sin(mu.mu * x)), Kind.SUM, 1),
    "ring": (lambda x, mu: jnp.sum(jnp.sin(x + mu.mu * jnp.roll(x, 1) ** 2)), Kind.CHAIN, 2),
    "windows of three": (lambda x, mu: jnp.sum(jnp.sin(mu.mu * x[2:] * x[1:-1] * x[:-2])), Kind.CHAIN, 3),
    "everything": (lambda x, mu: jnp.sin(mu.mu * jnp.dot(jnp.linspace(1.0, 2.0, D), x)), Kind.NONE, 1),
    "nothing": (lambda x, mu: jnp.zeros(()), Kind.NONE, 1),
}


@pytest.mark.parametrize(("source", "kind", "window"), SOURCES.values(), ids=SOURCES)
def test_a_family_of_ones_own(source, kind, window):
    structure = find_structure(Sourced(prism.Cube(D, -1.0, 1.0), source))
    assert (structure.kind, structure.window) == (kind, window)
    assert structure.describe()


def test_a_ring_is_the_same_everywhere():
    structure = find_structure(Sourced(prism.Cube(D, -1.0, 1.0), SOURCES["ring"][0]))
    assert structure.periodic
    assert structure.invariant


def test_a_seed_decides_what_is_seen():
    family = SineGordon.create(D, KEY, True, pairs="random")
    one, same = (find_structure(family, seed=3) for _ in range(2))
    assert one.pairs == same.pairs


@jax.custom_vjp
def reverse_only(x):
    """sin of a user's own, whose derivative has no rule of its own."""
    return jnp.sin(x)


_cosine = lambda x: jax.pure_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")
reverse_only.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * _cosine(x),))


def test_a_source_without_second_derivatives_is_named():
    source = lambda x, mu: jnp.sum(reverse_only(mu.mu * x) * jnp.arange(1.0, D + 1))
    with pytest.raises(UnknownStructure, match="differentiated twice in x"):
        find_structure(Sourced(prism.Cube(D, -1.0, 1.0), source))
