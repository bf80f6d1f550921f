"""Keys: items are what one asks for one by one, and no two paths from a root meet."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.numerics.keys import Purpose, child, children, item, items, root, stream

USES = [purpose for purpose in Purpose if purpose is not Purpose.ITEMS]
seeds, purposes = st.integers(0, 2**31 - 1), st.sampled_from(USES)


def words(key) -> tuple[int, ...]:
    return tuple(np.ravel(jax.random.key_data(key)).tolist())


@settings(max_examples=25)
@given(seeds, st.sampled_from([1, 2, 7, 20]), st.data())
def test_items_are_what_one_asks_for_one_by_one(seed, count, data):
    index = data.draw(st.integers(0, count - 1))
    key = root(seed)
    assert words(items(key, count)[index]) == words(item(key, index)) == words(item(key, jnp.asarray(index)))


@given(seeds, purposes, purposes)
def test_children_of_different_purposes_differ(seed, first, second):
    key = root(seed)
    assert (words(child(key, first)) == words(child(key, second))) == (first is second)
    assert words(child(key, first)) != words(key)
    assert words(stream(seed, first)) == words(child(key, first))


@settings(max_examples=25)
@given(seeds, st.lists(purposes, min_size=4, max_size=4))
def test_children_together_are_those_one_by_one(seed, several):
    key = root(seed)
    assert [words(k) for k in children(key, *several)] == [words(child(key, purpose)) for purpose in several]


def test_no_two_paths_from_a_root_meet():
    """A child for every purpose and 100 items, each with children and items of its own."""

    def below(key):
        numbers = jnp.asarray(USES, jnp.uint32)
        return jnp.concatenate([jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers), items(key, 100)])

    key = root(0)
    first = jax.jit(below)(key)
    second = jax.jit(jax.vmap(below))(first)
    found = np.concatenate([jax.random.key_data(keys).reshape(-1, 2) for keys in (key[None], first, second)])
    assert len(np.unique(found, axis=0)) == len(found) == 1 + (len(USES) + 100) * (1 + len(USES) + 100)
    assert words(first[USES.index(Purpose.TIME)]) == words(child(key, Purpose.TIME))


@pytest.mark.parametrize("first", [Purpose.POINTS, Purpose.DIRECTIONS, Purpose.CONDITIONS])
def test_draws_for_different_purposes_are_uncorrelated(first):
    """4 standard errors of 20,000 normals, under a fixed key; also with the items of the same key."""
    keys = {purpose: child(root(1), purpose) for purpose in USES} | {"item": item(root(1), 0)}
    drawn = np.stack([np.asarray(jax.random.normal(key, (20_000,))) for key in keys.values()])
    correlations = np.corrcoef(drawn)[USES.index(first)]
    others = np.delete(correlations, USES.index(first))
    assert np.max(np.abs(others)) < 4 / np.sqrt(20_000)


def test_every_purpose_has_a_number_of_its_own():
    for a, b in itertools.combinations(Purpose, 2):
        assert int(a) != int(b)
