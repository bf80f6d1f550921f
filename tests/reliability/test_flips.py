"""One flipped bit in any file of a run is found, or changes nothing."""

import json
import shutil
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy
from reliability import figures, grounds
from reliability.commands import Commands

from prism.errors import CorruptedFile
from prism.training.checkpoints import STATE_FILE, Checkpoints

FLIPS, SEED = 500, 3
MODEL = ("model/manifest.json", "model/model.json", "model/model.safetensors")
CHECKPOINT = ("manifest.json", "record.json", STATE_FILE)
ASK = ("predict", "run", *grounds.MU, "--points", "points.csv", "--json")
TRUST = ("trust", "run", *grounds.MU, "--json")
RESUME = ("solve", "--resume", "run", "--json")
MORE = (*RESUME, "--steps", "25")
UNHASHED = {
    "config.json": MORE,
    "report.json": RESUME,
    "metrics.jsonl": MORE,
    "trust.json": TRUST,
    ".prism.json": RESUME,
}
"""Files without a hash, and who reads them."""
CLOCKS = ("second", "peak_rss_mb", "loss")
"""In the names of what differs between two runs that are the same: the loss is a mean over the last session."""


@jax.tree_util.register_pytree_with_keys_class
class Named(dict):
    """Arrays under the names that a checkpoint gives them."""

    def tree_flatten_with_keys(self):
        return [(Name(name), value) for name, value in self.items()], tuple(self)

    @classmethod
    def tree_unflatten(cls, names, values):
        return cls(zip(names, values, strict=True))


@dataclass(frozen=True)
class Name:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass
class Flips:
    """Flips one after another, each in a copy of a run, and what was found of them."""

    base: Path
    commands: Commands
    scratch: Path
    random: np.random.Generator
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    _whole: dict[tuple[tuple[str, ...], str | None], tuple[object, bytes]] = field(default_factory=dict)

    def one(self) -> None:
        """Flip a bit of a random file; the network and the checkpoints are most of what a run is."""
        group = self.random.choice(["model", "checkpoint", "resumed", "unhashed"], p=(0.4, 0.36, 0.04, 0.2))
        place = Path(shutil.copytree(self.base, self.scratch / "flipped"))
        newest = max((place / "run" / "checkpoints").iterdir())
        files = {"model": MODEL, "unhashed": tuple(UNHASHED)}.get(group, CHECKPOINT)
        name = str(self.random.choice(files))
        file = place / "run" / name if group in ("model", "unhashed") else newest / name
        told = flip(file, self.random)
        if group == "checkpoint":
            ended = recovered(newest)
        else:
            lost = newest.name if group == "resumed" else None
            ended = self.asked(place, {"model": ASK, "resumed": MORE}.get(group) or UNHASHED[name], lost)
        kind = "unhashed" if group == "unhashed" else "hashed"
        if ended in ("found", "no effect") and (ended == "found" or kind == "unhashed"):
            self.counts[f"{kind}, {ended}"] = self.counts.get(f"{kind}, {ended}", 0) + 1
        else:
            self.failures.append(f"{told}: {ended}")
        shutil.rmtree(place)

    def asked(self, place: Path, call: tuple[str, ...], lost: str | None) -> str:
        """How the command takes it: found is what is refused, or told and recovered with the result that the run has
        without the checkpoint that is `lost`."""
        code, err, result = self.result(place, call)
        if code not in (0, 2) or "Traceback" in err:
            return f"prism {' '.join(call)}: exit {code}: {err[-200:]}"
        same = result == self.expected(call, lost)
        if code == 2 or ("damaged" in err and same):
            return "found"
        return "no effect" if same else f"prism {' '.join(call)}: another result"

    def expected(self, call: tuple[str, ...], lost: str | None) -> tuple[object, bytes]:
        """The result of a run whose files are as they were written; each is made once."""
        if (call, lost) not in self._whole:
            place = Path(shutil.copytree(self.base, self.scratch / f"whole-{len(self._whole)}"))
            if lost is not None:
                shutil.rmtree(place / "run" / "checkpoints" / lost)
            self._whole[call, lost] = self.result(place, call)[2]
        return self._whole[call, lost]

    def result(self, place: Path, call: tuple[str, ...]) -> tuple[int | None, str, tuple[object, bytes]]:
        """Exit code, standard error, and what was answered with the network that the run then holds."""
        ran = self.commands.run(call, place)
        answer = json.loads(ran.out.splitlines()[-1]) if ran.code == 0 else None
        if isinstance(answer, dict):
            answer = {name: value for name, value in answer.items() if not any(clock in name for clock in CLOCKS)}
        return ran.code, ran.err, (answer, (place / "run" / MODEL[-1]).read_bytes())


def recovered(newest: Path) -> str:
    """How a checkpoint that was flipped is taken by what a run resumes from: the one before it, with a warning."""
    older = min(newest.parent.iterdir())
    expected = Named(safetensors.numpy.load((older / STATE_FILE).read_bytes()))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = Checkpoints(newest.parent).newest(expected)
        except CorruptedFile as error:
            return f"not recovered: {error}"
    same = found is not None and all(np.array_equal(found[0][name], expected[name]) for name in expected)
    return "found" if same and any("damaged" in str(one.message) for one in said) else "not found"


def flip(path: Path, random: np.random.Generator) -> str:
    """Flip one bit anywhere in a file; tells which."""
    content = bytearray(path.read_bytes())
    at, bit = int(random.integers(len(content))), int(random.integers(8))
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {at} of {'/'.join(path.parts[-2:])}"


@pytest.mark.slow
def test_flipped_bits_are_found(tmp_path):
    begun, tried = time.monotonic(), figures.scaled(FLIPS)
    with Commands(tmp_path / "cache") as commands:
        base = grounds.trained(tmp_path / "base", commands)
        assert commands.run(TRUST, base).code == 0  # leaves trust.json
        flips = Flips(base, commands, tmp_path, np.random.default_rng(SEED))
        for _ in range(tried):
            flips.one()
    held = tried - len(flips.failures)
    seconds = time.monotonic() - begun
    found = {"tried": tried, "held": held, **flips.counts, "seconds": seconds, "failures": flips.failures}
    figures.keep("flipped bits", found)
    print(found)
    assert not flips.failures, figures.told(flips.failures)
