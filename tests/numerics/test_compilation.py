"""Programs are kept between processes where the user wants it, and a bad cache never stands in the way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from prism.numerics.compilation import MOST_BYTES, PROGRAMS, _make_room, cache_directory

PROGRAM = """
import json, sys
import jax, jax.numpy as jnp
from prism.numerics.compilation import keep_programs
if len(sys.argv) > 1:
    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
keep_programs()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
value = jax.jit(lambda x: jnp.linalg.qr(jnp.sin(x) @ jnp.cos(x).T)[0].sum())(jnp.ones((40, 30)))
found = sum(event.endswith("cache_hits") for event in hits)
print(json.dumps({"value": float(value), "hits": found, "place": jax.config.jax_compilation_cache_dir}))
"""


def run(*arguments: str, **environment: str) -> dict:
    """The program in a process of its own, whose cache keeps programs however quickly they compile."""
    whole = {**os.environ, **environment}
    whole.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *arguments]
    done = subprocess.run(command, env=whole, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_second_process_finds_what_the_first_compiled_even_after_damage(tmp_path):
    cache = str(tmp_path / "cache")
    first = run(PRISM_CACHE_DIR=cache)
    assert first["hits"] == 0
    assert first["place"] == f"{cache}/{PROGRAMS}"
    assert run(PRISM_CACHE_DIR=cache)["hits"] > 0
    for file in Path(cache, PROGRAMS).iterdir():
        file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    damaged = run(PRISM_CACHE_DIR=cache)
    assert damaged["value"] == first["value"]


def test_a_cache_that_is_off_or_the_callers_own_is_left_alone(tmp_path):
    assert run(PRISM_CACHE_DIR="off")["place"] is None
    assert run(str(tmp_path / "mine"), PRISM_CACHE_DIR=str(tmp_path / "ours"))["place"] == str(tmp_path / "mine")
    assert not (tmp_path / "ours").exists()


def test_a_place_that_cannot_be_used_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    assert run(PRISM_CACHE_DIR=str(tmp_path / "file" / "cache"))["place"] is None


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PRISM_CACHE_DIR": "off"}, None),
        ({"PRISM_CACHE_DIR": ""}, None),
        ({"PRISM_CACHE_DIR": "/somewhere"}, Path("/somewhere")),
        ({"XDG_CACHE_HOME": "/caches"}, Path("/caches/prism")),
    ],
)
def test_where_programs_are_kept(environment, expected):
    assert cache_directory(environment) == expected


def test_the_default_is_in_the_users_home():
    place = cache_directory({})
    assert place is not None
    assert place.name == "prism"
    assert place.is_relative_to(Path.home())


def test_the_oldest_programs_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr("prism.numerics.compilation.MOST_BYTES", 250)
    (tmp_path / "thesis.tex").write_bytes(bytes(1_000))
    for number in range(4):
        (tmp_path / f"jit_{number}-cache").write_bytes(bytes(100))
        os.utime(tmp_path / f"jit_{number}-cache", (number, number))
    _make_room(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["jit_2-cache", "jit_3-cache", "thesis.tex"]
    assert MOST_BYTES == 2**30
