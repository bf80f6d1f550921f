"""A function traced from shapes gives what a plain call gives, and is traced once for arguments of a kind."""

import gc
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

from prism.numerics.ahead import trace, without_garbage_collection


class Scaled(NamedTuple):
    """A tree of an array and something that is none."""

    values: object
    unit: str


def scale(tree: Scaled, factor: jax.Array, power: int) -> Scaled:
    TRACED.append(power)
    return Scaled((factor * tree.values) ** power, tree.unit + "!")


TRACED: list[int] = []


def test_what_is_traced_from_shapes_is_the_function():
    shapes = Scaled(jax.ShapeDtypeStruct((3,), jnp.float32), "m"), jax.ShapeDtypeStruct((), jnp.float32)
    traced = trace(scale, *shapes, 2)
    assert traced.shapes == Scaled(jax.ShapeDtypeStruct((3,), jnp.float32), "m!")
    found = traced(Scaled(jnp.arange(3, dtype=jnp.float32), "m"), jnp.float32(2.0), 2)
    assert found.unit == "m!"
    assert found.values.tolist() == [0.0, 4.0, 16.0]


def test_like_arguments_are_traced_once_and_others_anew():
    tree = lambda size, unit: Scaled(jnp.ones(size), unit)
    first = trace(scale, tree(4, "s"), jnp.float32(1.0), 2)
    count = len(TRACED)
    assert trace(scale, tree(4, "s"), jnp.float32(7.0), 2) is first
    assert first.compile() is first.compile()
    assert len(TRACED) == count
    others = [(tree(5, "s"), 2, {}), (tree(4, "kg"), 2, {}), (tree(4, "s"), 3, {}), (tree(4, "s"), 2, {"donate": (0,)})]
    for arguments, power, options in others:
        assert trace(scale, arguments, jnp.float32(1.0), power, **options) is not first
    assert len(TRACED) == count + len(others)


def test_donated_arguments_are_used_up():
    values = jnp.ones(1000)
    traced = trace(scale, Scaled(values, "a"), jnp.float32(2.0), 1, donate=(0,))
    assert traced(Scaled(values, "a"), jnp.float32(2.0), 1).values[0] == 2.0
    assert values.is_deleted()


@without_garbage_collection()
def fail() -> None:
    assert not gc.isenabled()
    raise ValueError("tried")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_afterwards(enabled):
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ValueError, match="tried"):
            fail()
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
