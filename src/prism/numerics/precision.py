"""Arrays in another precision than they were made in."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

Tree = TypeVar("Tree")


def in_double_precision(tree: Tree) -> Tree:
    """The same with every array of real numbers in double precision; inside `jax.enable_x64`."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf, tree)
