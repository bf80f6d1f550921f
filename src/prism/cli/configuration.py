"""The options of one `prism solve`: from the command line, and from the config.json of the run that it resumes."""

import argparse
import math
from collections.abc import Mapping
from dataclasses import fields, replace

from prism.cli.names import own_dimension
from prism.cli.options import SolveOptions, option
from prism.cli.own_families import is_own, load_own
from prism.cli.speech import say
from prism.errors import InputError
from prism.files.reading import blaming, converted
from prism.numerics.texts import counted
from prism.solving.results import Standing
from prism.solving.tasks import MADE_BY

ADDED_LATER: tuple[str, ...] = ("family_sha256", "equation", "wave")
"""Options that runs of earlier versions do not have."""
More = tuple[int | None, float | None]
"""--more-steps and --more-minutes."""


def given_options(options: argparse.Namespace) -> dict[str, object]:
    """Those of the command line that decide a run, and only those that were typed."""
    names = {entry.name for entry in fields(SolveOptions)}
    return {name: value for name, value in vars(options).items() if name in names and value is not None}


def new_options(given: Mapping[str, object], more: More = (None, None)) -> SolveOptions:
    if more != (None, None):
        raise InputError("--more-steps and --more-minutes add to a run that is resumed; give --resume DIR")
    chosen = with_own_dimension(given)
    for name, example in (("family", "prism solve allen-cahn --dim 100"), ("dim", "--dim 100")):
        if name not in chosen:
            raise InputError(f"no {name} given; such as {example}")
    if "steps" not in chosen:
        chosen.setdefault("minutes", 1.0)
    return SolveOptions(**chosen)  # pyright: ignore[reportArgumentType]


def with_own_dimension(given: Mapping[str, object]) -> dict[str, object]:
    """With the dimension of a family that has it fixed, or that the user has built already."""
    family = given.get("family")
    if not isinstance(family, str):
        return dict(given)
    dimension = load_own(family).dimension if is_own(family) else own_dimension(family)
    if dimension is None:
        return dict(given)
    if given.get("dim", dimension) != dimension:
        own = counted(dimension, "space dimension")
        raise InputError(f"--dim {given['dim']}: {family} has {own}; leave --dim out")
    return {**given, "dim": dimension}


def resumed_options(
    given: Mapping[str, object],
    saved: Mapping[str, object],
    source: str,
    standing: Standing | None = None,
    more: More = (None, None),
) -> SolveOptions:
    """An earlier run's own options, which stand in `source`; only its budget may be another, as a total or by more."""
    config = saved_options(saved, source).config()
    family = own_family_again(str(config["family"]), config["family_sha256"], given.get("family"))
    budget = {name: given[name] for name in ("steps", "minutes") if name in given}
    if more != (None, None):
        budget = total_budget(budget, more, standing)
    for name, value in given.items():
        if name not in ("family", "steps", "minutes") and config.get(name) != value:
            raise InputError(
                f"{option(name)} {value} differs from the run's own {config.get(name)}; a resumed run "
                "keeps its settings, only --steps or --minutes may change"
            )
    kept = {name: value for name, value in config.items() if not (budget and name in ("steps", "minutes"))}
    chosen = SolveOptions(**{**kept, **budget})  # pyright: ignore[reportArgumentType]
    return replace(chosen, family=family, family_sha256=None if is_own(family) else chosen.family_sha256)


def total_budget(given: Mapping[str, object], more: More, standing: Standing | None) -> dict[str, object]:
    """The budget of a run with so much added to it."""
    steps, minutes = more
    if given or (steps is not None and minutes is not None):
        raise InputError("give one of --steps, --minutes, --more-steps and --more-minutes")
    if (steps is not None and steps < 1) or (minutes is not None and not 0.0 < minutes < math.inf):
        raise InputError(f"--more-{'steps' if minutes is None else 'minutes'} adds nothing; give a positive number")
    assert standing is not None
    total = standing.total(steps, minutes)
    return {"steps": total.steps} if total.steps is not None else {"minutes": total.minutes}


def own_family_again(saved: str, sha256: object, given: object) -> str:
    """The family of a run, as it is named now. One of the user's own has to be named: nothing is imported because a
    run's files say so. A file that has changed is told; whether its equation has is seen when it is traced."""
    if not is_own(saved):
        if given not in (None, saved):
            raise InputError(f"{given} differs from the run's own {saved}; leave it out")
        return saved
    if not isinstance(given, str):
        raise InputError(f"this is a run of {saved}, a family of your own; name it: {saved}, as FAMILY or by --family")
    own = load_own(given)
    if own.name != saved.rpartition(":")[2]:
        raise InputError(f"{given} differs from the run's own {saved}; name the family that was solved")
    if own.sha256 != sha256:
        say(f"{given.rpartition(':')[0]} has changed since this run was begun")
    return given


def saved_options(saved: Mapping[str, object], source: str) -> SolveOptions:
    """The options in a file: every one and nothing else, each of its type."""
    if saved.get("made_by") == MADE_BY:
        raise InputError("this run was made from Python; go on with it there: prism.solve(family, resume=DIR)")
    config = {**dict.fromkeys(ADDED_LATER), **saved}
    if set(config) != {entry.name for entry in fields(SolveOptions)}:
        raise InputError(f"{source} does not hold the options of this version of prism; start a new run")
    with blaming(source, InputError):
        return converted(config, SolveOptions)
