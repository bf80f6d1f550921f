"""The command as the tests call it, and a finished run without its training."""

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

from prism.cli import main
from prism.cli.options import SolveOptions
from prism.networks.model import Model
from prism.numerics.keys import Purpose, stream
from prism.reporting.records import RunDirectory
from prism.solution.solution import Solution


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def prism(*arguments: object) -> Ran:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
    return Ran(code, out.getvalue(), err.getvalue())


def latest(*arguments: object) -> tuple[object, ...]:
    """The arguments with the last value alone of an option that is among them twice."""
    words, kept = list(arguments), []
    for place, word in enumerate(words):
        again = str(word).startswith("--") and word in words[place + 1 :]
        after_again = place > 0 and str(words[place - 1]).startswith("--") and words[place - 1] in words[place:]
        kept += [] if again or after_again else [word]
    return tuple(kept)


def check_refusal(ran: Ran, *words: str) -> None:
    """Exit code 2, one line, nothing on standard output."""
    assert ran.code == 2, ran
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert [line for line in lines if line.startswith("prism: error: ")] == lines[-1:], ran.err
    assert "Traceback" not in ran.err
    for word in words:
        assert word in lines[-1]


def finished_run(path: Path) -> Path:
    """What `prism solve` leaves, with a network that was never trained."""
    options = SolveOptions(
        family="allen-cahn", dim=3, width=4, lift="dense:4+affine:4", depth=1, generator_width=4, points=4, steps=1
    )
    family = options.build_family()
    settings = options.build_settings(family)
    model = Model.create(settings.architecture, family.domain, family.parameters, stream(0, Purpose.MODEL))
    config = options.resolved(settings, family).config()
    RunDirectory.new(path, force=False).begin(config, resume=False)
    Solution(model, family).save(path / "model", config)
    return path
