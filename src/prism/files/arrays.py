"""Arrays of a tree as safetensors: named by their paths, read back bit for bit; nothing is ever unpickled."""

from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from prism.errors import CorruptedFile, InputError
from prism.files.reading import quoted

Tree = TypeVar("Tree")

# What safetensors both writes and reads back through numpy.
STORABLE = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
STORABLE |= {"float16", "float32", "float64", "complex64"}


def pack_arrays(tree: Any) -> bytes:
    """The array leaves of a tree as safetensors, named by their paths; other leaves are not stored."""
    # safetensors copies memory as it lies, so the order matters; arrays in that order are not copied here.
    return safetensors.numpy.save({name: np.asarray(leaf, order="C") for name, leaf in _array_leaves(tree)})


def unpack_arrays(template: Tree, content: bytes) -> Tree:
    """The template with its array leaves replaced by the stored ones, as jax arrays.

    Leaves of the template may be `jax.ShapeDtypeStruct`. Where jax works in single precision, a NumPy array of float64
    is stored as such or, once a program was run with it, as float32: either is what such a leaf of the template asks
    for, and becomes float32.
    """
    try:
        stored = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise CorruptedFile(f"the stored arrays cannot be read as safetensors ({quoted(error)})") from error
    expected = dict(_array_leaves(template))
    for name, leaf in expected.items():
        _check_stored(name, leaf, stored)
    if surplus := sorted(stored.keys() - expected.keys()):
        raise InputError(f"array {surplus[0]!r} is stored, but the template does not have it")

    def restored(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        return jnp.asarray(stored.pop(name)) if name in expected else leaf  # pop: let the host copy go

    return jax.tree_util.tree_map_with_path(restored, template)


def _array_leaves(tree: Any) -> list[tuple[str, Any]]:
    """The paths and array leaves of a tree, every one of a dtype that can be stored."""
    leaves = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if not isinstance(leaf, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct):
            continue
        name = jax.tree_util.keystr(path)
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            raise InputError(f"array {name!r} is a typed PRNG key: store jax.random.key_data(key) in its place")
        if leaf.dtype.name not in STORABLE:
            raise InputError(f"array {name!r} is of dtype {leaf.dtype}; use one of {', '.join(sorted(STORABLE))}")
        leaves.append((name, leaf))
    return leaves


def _check_stored(name: str, leaf: Any, stored: Mapping[str, np.ndarray]) -> None:
    """Refuse stored arrays that are not what the template's leaf asks for."""
    if name not in stored:
        raise InputError(f"array {name!r} of the template is not stored")
    found, dtype = stored[name], leaf.dtype.name
    if found.shape != tuple(leaf.shape):
        raise InputError(f"array {name!r} is stored with shape {found.shape}; the template has {tuple(leaf.shape)}")
    if found.dtype.name not in (dtype, jax.dtypes.canonicalize_dtype(leaf.dtype).name):
        raise InputError(f"array {name!r} is stored with dtype {found.dtype.name}; the template has {dtype}")
