"""Arrays come back bit for bit, and only into what they were stored from."""

import contextlib
import json
import struct

import equinox as eqx
import hypothesis
import hypothesis.extra.numpy as arrays_of
import hypothesis.strategies as strategies
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from prism.errors import CorruptedFile, InputError
from prism.files import arrays


def bits(array) -> tuple:
    array = np.asarray(array)
    return array.dtype.name, array.shape, array.tobytes()


@hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
@hypothesis.given(strategies.data())
def test_arrays_round_trip_bit_for_bit(data):
    dtypes = [np.bool_, np.int32, np.uint32, np.float32, np.float64, np.int64, np.uint8, np.float16]
    dtype = data.draw(strategies.sampled_from(dtypes))
    shape = data.draw(arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    array = data.draw(arrays_of.arrays(dtype, shape))  # not-a-numbers and infinities included
    tree = {"plain": array, "turned": array.T, "nested": [array[..., None]]}
    content = arrays.pack_arrays(tree)
    for template in (tree, jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)):
        restored = arrays.unpack_arrays(template, content)
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(restored))
        assert jax.tree.map(bits, restored) == jax.tree.map(bits, tree)


def test_a_module_round_trip_keeps_what_is_not_an_array():
    def network(seed: int) -> eqx.nn.MLP:
        return eqx.nn.MLP(3, 2, 8, 2, activation=jnp.tanh, key=jax.random.PRNGKey(seed))

    trained, template = network(0), network(1)
    state = {"network": trained, "step": jnp.asarray(7), "note": "trained", "rate": 0.1, "none": None}
    other = {"network": template, "step": jnp.asarray(0), "note": "template", "rate": 0.2, "none": None}
    restored = arrays.unpack_arrays(other, arrays.pack_arrays(state))
    assert eqx.tree_equal(restored["network"], trained)
    assert restored["network"].activation is template.activation
    assert int(restored["step"]) == 7
    assert (restored["note"], restored["rate"], restored["none"]) == ("template", 0.2, None)


def test_the_template_may_come_from_an_abstract_evaluation():
    state = {"weights": jnp.ones((3, 2)), "key": jax.random.PRNGKey(0)}
    template = jax.eval_shape(lambda: state)
    restored = arrays.unpack_arrays(template, arrays.pack_arrays(state))
    assert jax.tree.map(bits, restored) == jax.tree.map(bits, state)


def test_a_tree_of_one_array_and_a_tree_of_none():
    assert bits(arrays.unpack_arrays(jnp.zeros(3), arrays.pack_arrays(jnp.arange(3.0)))) == bits(jnp.arange(3.0))
    assert arrays.unpack_arrays({"a": 1}, arrays.pack_arrays({"a": 2})) == {"a": 1}


def test_arrays_of_foreign_byte_order_keep_their_values():
    stored = arrays.pack_arrays({"a": np.array([1.5, -2.0], dtype=">f4")})
    restored = arrays.unpack_arrays({"a": np.zeros(2, dtype=np.float32)}, stored)
    assert bits(restored["a"]) == bits(np.array([1.5, -2.0], dtype=np.float32))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"a": np.zeros(4, np.float32), "b": np.zeros(2, np.int32)}, r"\['a'\].*shape \(3,\).*has \(4,\)"),
        ({"a": np.zeros(3, np.int32), "b": np.zeros(2, np.int32)}, r"\['a'\].*dtype float32.*has int32"),
        ({"a": np.zeros(3, np.float32)}, r"\['b'\].*is stored, but the template does not have it"),
        ({"a": np.zeros(3, np.float32), "b": 1}, r"\['b'\].*is stored, but the template does not have it"),
        ({"a": np.zeros(3, np.float32), "c": np.zeros(2)}, r"\['c'\].*is not stored"),
    ],
)
def test_another_template_is_refused(template, message):
    content = arrays.pack_arrays({"a": np.zeros(3, np.float32), "b": np.zeros(2, np.int32)})
    with pytest.raises(InputError, match=message):
        arrays.unpack_arrays(template, content)


def test_typed_keys_are_refused_and_raw_keys_are_kept():
    key = jax.random.key(3)
    with pytest.raises(InputError, match=r"\['key'\].*key_data"):
        arrays.pack_arrays({"key": key})
    with pytest.raises(InputError, match=r"\['key'\].*key_data"):
        arrays.unpack_arrays({"key": key}, arrays.pack_arrays({}))
    raw = {"key": jax.random.key_data(key)}
    restored = jax.random.wrap_key_data(arrays.unpack_arrays(raw, arrays.pack_arrays(raw))["key"])
    assert bool(jax.random.bits(restored) == jax.random.bits(key))


@pytest.mark.parametrize(
    "leaf",
    [np.array(["text"]), np.array([None]), jnp.zeros(2, jnp.bfloat16)],
    ids=["text", "object", "bfloat16"],
)
def test_other_dtypes_are_refused_before_anything_is_written(leaf):
    with pytest.raises(InputError, match=r"\['a'\].*dtype.*use one of.*float32"):
        arrays.pack_arrays({"a": leaf})


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64], ids=["empty", "short", "other"])
def test_content_that_is_not_safetensors_is_detected(content):
    with pytest.raises(CorruptedFile, match="safetensors"):
        arrays.unpack_arrays({"a": np.zeros(2)}, content)


def forged(entry: dict, data: bytes = bytes(16)) -> bytes:
    """safetensors with a header that says anything."""
    header = json.dumps({"['a']": entry}).encode()
    return struct.pack("<Q", len(header)) + header + data


FORGED = {
    "an unknown type": forged({"dtype": "X9", "shape": [2], "data_offsets": [0, 16]}),
    "a type without NumPy": forged({"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}),
    "eight bits": forged({"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]}),
    "another type": forged({"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}),
    "another shape": forged({"dtype": "F64", "shape": [1, 2], "data_offsets": [0, 16]}),
    "a huge shape": forged({"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 16]}),
    "a negative shape": forged({"dtype": "F64", "shape": [-2], "data_offsets": [0, 16]}),
    "offsets beyond the end": forged({"dtype": "F64", "shape": [2], "data_offsets": [0, 10**18]}),
    "offsets the wrong way": forged({"dtype": "F64", "shape": [2], "data_offsets": [16, 0]}),
    "a shape of many digits": forged({"dtype": "F64", "shape": [10**400], "data_offsets": [0, 16]}),
    "no shape": forged({"dtype": "F64"}),
    "a huge header": struct.pack("<Q", 2**63) + b"{}",
    "a nested header": struct.pack("<Q", 100_000) + b"[" * 100_000,
    "a list": struct.pack("<Q", 2) + b"[]",
    "not text": struct.pack("<Q", 4) + b"\xff\xfe\x00\x01",
}


@pytest.mark.parametrize("content", FORGED.values(), ids=FORGED)
def test_forged_arrays_are_refused_in_one_line(content):
    with pytest.raises((CorruptedFile, InputError)) as caught:
        arrays.unpack_arrays({"a": np.zeros(2)}, content)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


@hypothesis.settings(max_examples=100)
@hypothesis.given(strategies.integers(0, 200), strategies.integers(0, 255))
def test_no_changed_byte_of_the_header_escapes(place, byte):
    content = bytearray(arrays.pack_arrays({"a": np.zeros(2), "b": np.ones((2, 3), np.float32)}))
    content[min(place, len(content) - 1)] = byte
    with contextlib.suppress(CorruptedFile, InputError):
        arrays.unpack_arrays({"a": np.zeros(2), "b": np.ones((2, 3), np.float32)}, bytes(content))


def test_an_array_of_numpy_comes_back_as_the_programs_see_it():
    """In single precision jax takes NumPy's float64 for float32: stored before or after that, it can be read."""
    template = {"a": np.asarray([0.1, 0.2]), "count": np.asarray([3, 4]), "one": np.float64(0.3)}
    with jax.enable_x64(False):
        for stored in (template, jax.tree.map(jnp.asarray, template)):
            found = arrays.unpack_arrays(template, arrays.pack_arrays(stored))
            assert jax.tree.map(lambda leaf: leaf.dtype.name, found) == {
                "a": "float32",
                "count": "int32",
                "one": "float32",
            }
            assert np.array_equal(found["a"], np.asarray([0.1, 0.2], np.float32))
        with pytest.raises(InputError, match=r"dtype float64; the template has float32"):
            arrays.unpack_arrays({"a": jnp.zeros(2)}, arrays.pack_arrays({"a": np.zeros(2)}))
