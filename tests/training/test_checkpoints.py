"""A run resumes from the newest whole checkpoint, whatever happened to the others."""

import json
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from prism.errors import CorruptedFile, InputError
from prism.files import storage
from prism.training.checkpoints import Checkpoints

FILES = ["state.safetensors", "record.json", "manifest.json"]


def state_at(step: int) -> dict:
    return {"weights": jnp.arange(64.0).reshape(8, 8) + step, "count": jnp.asarray(step), "name": "adam"}


def saved(directory: Path, *steps: int, keep: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(directory, keep)
    for step in steps:
        checkpoints.save(step, state_at(step), {"step": step, "loss": 0.5, "history": [1.0, 0.5]})
    return checkpoints


def checkpoint(directory: Path, step: int) -> Path:
    return directory / f"step-{step:012d}"


def steps_in(directory: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in directory.iterdir())


def assert_resumes_at(checkpoints: Checkpoints, step: int) -> None:
    found = checkpoints.newest(state_at(0))
    assert found is not None
    state, record = found
    assert record == {"step": step, "loss": 0.5, "history": [1.0, 0.5]}
    np.testing.assert_array_equal(state["weights"], state_at(step)["weights"], strict=True)
    assert int(state["count"]) == step
    assert state["name"] == "adam"


def flip_byte(path: Path, place: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0x80
    path.write_bytes(content)


def test_the_newest_is_found(tmp_path):
    checkpoints = saved(tmp_path / "run", 10, 2000, 300)
    assert_resumes_at(checkpoints, 2000)
    assert sorted(path.name for path in checkpoint(tmp_path / "run", 10).iterdir()) == sorted(FILES)


def test_no_checkpoint_is_none(tmp_path):
    assert Checkpoints(tmp_path).newest(state_at(0)) is None
    assert Checkpoints(tmp_path / "absent").newest(state_at(0)) is None


def test_only_the_newest_are_kept(tmp_path):
    saved(tmp_path, 1, 2, 3, 4, 5, keep=2)
    assert steps_in(tmp_path) == [4, 5]
    saved(tmp_path, 6, keep=1)
    assert steps_in(tmp_path) == [6]


def test_the_checkpoint_just_saved_stays_beside_later_ones(tmp_path):
    """After a resume from before damaged checkpoints, the new one is the only whole one."""
    checkpoints = saved(tmp_path, 100, 200, 300, keep=3)
    for step in (100, 200, 300):
        flip_byte(checkpoint(tmp_path, step) / "state.safetensors", 0.5)
    saved(tmp_path, 150, keep=1)
    assert steps_in(tmp_path) == [150, 200, 300]
    with pytest.warns(UserWarning, match="is damaged") as caught:
        assert_resumes_at(checkpoints, 150)
    assert len(caught) == 2


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 0.75, 0.999])
def test_a_flipped_byte_means_the_previous_one(tmp_path, name, place):
    checkpoints = saved(tmp_path, 1, 2)
    flip_byte(checkpoint(tmp_path, 2) / name, place)
    with pytest.warns(UserWarning, match=rf"step-000000000002 is damaged \(.*{name}.*\); using the previous one"):
        assert_resumes_at(checkpoints, 1)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("length", [0, 5])
def test_a_truncated_file_means_the_previous_one(tmp_path, name, length):
    checkpoints = saved(tmp_path, 1, 2)
    path = checkpoint(tmp_path, 2) / name
    path.write_bytes(path.read_bytes()[:length])
    with pytest.warns(UserWarning, match="using the previous one"):
        assert_resumes_at(checkpoints, 1)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_means_the_previous_one(tmp_path, name):
    checkpoints = saved(tmp_path, 1, 2)
    (checkpoint(tmp_path, 2) / name).unlink()
    with pytest.warns(UserWarning, match=f"{name} is missing"):
        assert_resumes_at(checkpoints, 1)


def test_a_directory_of_other_files_is_not_a_checkpoint(tmp_path):
    checkpoints = saved(tmp_path, 1)
    storage.write_directory(checkpoint(tmp_path, 2), {"other": b"x"})
    (tmp_path / "plots").mkdir()
    with pytest.warns(UserWarning, match=r"does not list state\.safetensors"):
        assert_resumes_at(checkpoints, 1)


def test_two_damaged_ones_give_two_warnings(tmp_path):
    checkpoints = saved(tmp_path, 1, 2, 3)
    flip_byte(checkpoint(tmp_path, 2) / "record.json", 0.5)
    shutil.rmtree(checkpoint(tmp_path, 3))
    checkpoint(tmp_path, 3).mkdir()
    with pytest.warns(UserWarning, match="is damaged") as caught:
        assert_resumes_at(checkpoints, 1)
    assert len(caught) == 2


def test_all_damaged_is_an_error(tmp_path):
    checkpoints = saved(tmp_path, 1, 2)
    for step in (1, 2):
        flip_byte(checkpoint(tmp_path, step) / "state.safetensors", 0.5)
    with (
        pytest.warns(UserWarning, match="step-000000000002 is damaged"),
        pytest.raises(CorruptedFile, match=r"no checkpoint in .* is whole.*step-000000000001"),
    ):
        checkpoints.newest(state_at(0))


def test_a_damaged_checkpoint_is_replaced_when_its_step_is_reached_again(tmp_path):
    checkpoints = saved(tmp_path, 1, 2)
    (checkpoint(tmp_path, 2) / "manifest.json").unlink()
    saved(tmp_path, 2)
    assert_resumes_at(checkpoints, 2)


def test_files_of_others_in_its_place_stay(tmp_path):
    place = checkpoint(tmp_path, 2)
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        saved(tmp_path, 2)
    assert (place / "notes.txt").read_text() == "mine"


def test_an_incomplete_directory_is_ignored_and_then_removed(tmp_path):
    checkpoints = saved(tmp_path, 1)
    leftover = tmp_path / ".incomplete-step-000000000002-abc"
    leftover.mkdir()
    (leftover / "state.safetensors").write_bytes(b"half")
    assert_resumes_at(checkpoints, 1)
    saved(tmp_path, 3)
    assert not leftover.exists()
    assert steps_in(tmp_path) == [1, 3]


def test_an_interrupted_replacement_is_resumed_from(tmp_path):
    """The writer stopped after it had set the only checkpoint aside to put a new one in its place."""
    checkpoints = saved(tmp_path, 1)
    checkpoint(tmp_path, 1).rename(tmp_path / ".replaced-step-000000000001")
    assert_resumes_at(checkpoints, 1)
    saved(tmp_path, 2)
    assert steps_in(tmp_path) == [1, 2]


def test_a_manifest_cannot_reach_outside(tmp_path):
    checkpoints = saved(tmp_path, 1, 2)
    path = checkpoint(tmp_path, 2) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["../step-000000000001/record.json"] = manifest["files"]["record.json"]
    path.write_text(json.dumps(manifest))
    with pytest.warns(UserWarning, match="not a plain file name"):
        assert_resumes_at(checkpoints, 1)


def test_another_model_is_refused_rather_than_passed_over(tmp_path):
    checkpoints = saved(tmp_path, 1, 2)
    template = state_at(0) | {"weights": jnp.zeros((8, 9))}
    with pytest.raises(InputError, match=r"step-000000000002 belongs to another model.*\['weights'\].*\(8, 9\)"):
        checkpoints.newest(template)


def test_mistakes_are_named(tmp_path):
    with pytest.raises(InputError, match="keep = 0"):
        Checkpoints(tmp_path, keep=0)
    with pytest.raises(InputError, match="step = -1"):
        Checkpoints(tmp_path).save(-1, {}, {})
    with pytest.raises(InputError, match=r"JSON.*plain values"):
        Checkpoints(tmp_path).save(1, {}, {"loss": jnp.asarray(0.5)})
    assert list(tmp_path.iterdir()) == []
