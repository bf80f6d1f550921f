"""The directory that every case starts from: a finished run, points, data, a family of one's own, files of others."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from reliability.commands import PATIENCE, Commands
from reliability.families import GOOD
from reliability.processes import SOURCE

SIZE = ("--width", "4", "--lift", "dense:4+affine:4", "--depth", "1", "--generator-width", "4", "--points", "4")
SOLVE = ("solve", "allen-cahn", "--dim", "3", *SIZE)
MU = ("--mu", "mu1=1", "mu2=1")
UNTRAINED = "import sys, pathlib; from cli.runs import finished_run; finished_run(pathlib.Path(sys.argv[1]))"


def trained(place: Path, commands: Commands) -> Path:
    """With a run that was solved in two sessions, and so has two checkpoints."""
    _lay_out(place)
    for budget in (("--steps", "10", "--out", "run"), ("--resume", "run", "--more-steps", "10")):
        ran = commands.run((*(SOLVE if "--out" in budget else ("solve",)), *budget), place, 10 * PATIENCE)
        assert ran.code == 0, ran.err
    return place


def untrained(place: Path) -> Path:
    """With a run that holds a solution of no worth and no checkpoint, made in seconds."""
    _lay_out(place)
    paths = os.pathsep.join((str(SOURCE), str(Path(__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", UNTRAINED, str(place / "run")], env=environment, check=True)
    return place


def _lay_out(place: Path) -> None:
    (place / "foreign").mkdir(parents=True)
    (place / "foreign" / "notes.txt").write_text("written by hand\n")
    (place / "foreign" / "config.json").write_text('{"mine": true}\n')
    (place / "my.py").write_text(GOOD)
    points = np.random.default_rng(0).uniform(-0.4, 0.4, size=(6, 3))
    np.savetxt(place / "points.csv", points, delimiter=",")
    np.savetxt(place / "data.csv", np.column_stack([points, points.sum(axis=1)]), delimiter=",")
