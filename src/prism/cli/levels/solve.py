"""`prism solve` for a potential: train, evaluate, write the run's directory, say what was found."""

import argparse
from collections.abc import Mapping
from dataclasses import replace

from prism.cli.configuration import More, own_family_again, total_budget
from prism.cli.levels.options import (
    LevelOptions,
    given_level_options,
    new_level_options,
    saved_level_options,
)
from prism.cli.options import option
from prism.cli.own_families import is_own
from prism.cli.speech import answer, say
from prism.eigen.runs import execute_levels, finish_levels
from prism.errors import InputError
from prism.numerics.texts import counted
from prism.problem.fingerprint import same_equation
from prism.reporting.records import RunDirectory
from prism.solving.results import Standing, finished_report, warn_of
from prism.solving.sessions import Record


def run_levels(options: argparse.Namespace, directory: RunDirectory, more: More) -> int:
    given = given_level_options(options)
    if options.resume is None:
        if more != (None, None):
            raise InputError("--more-steps and --more-minutes add to a run that is resumed; give --resume DIR")
        return solve_into(directory, new_level_options(given), resume=False, as_json=options.json)
    standing, config = Standing.of(directory), directory.read_json("config.json")
    standing.identity.check_config(config, directory.path)
    chosen = resumed(given, config, str(directory.path / "config.json"), standing, more)
    budget = chosen.build_budget()
    standing.check(budget)
    if standing.has_spent(budget) and (report := finished_report(directory, standing.step)) is not None:
        say(f"{standing.describe(budget)}; add to it with --more-minutes, or give a larger total")
        answer(report, [], options.json)
        warn_of(report, stacklevel=1)
        return 0
    potential = chosen.build_potential()
    standing.identity.check_family(potential)
    now = chosen.resolved(chosen.build_settings(potential), potential)
    if not same_equation(chosen.equation, now.equation):
        raise InputError(f"{directory.path} is a run of another potential than {chosen.family} is now; start a new run")
    return solve_into(directory, chosen, resume=True, as_json=options.json)


def resumed(
    given: Mapping[str, object], saved: Mapping[str, object], source: str, standing: Standing | None, more: More
) -> LevelOptions:
    """An earlier run's own options; only its budget may be another, as a total or by more."""
    kept = saved_level_options(saved, source)
    family = own_family_again(kept.family, kept.family_sha256, given.get("family"))
    budget = {name: given[name] for name in ("steps", "minutes") if name in given}
    if more != (None, None):
        budget = total_budget(budget, more, standing)
    for name, value in given.items():
        if name not in ("family", "steps", "minutes") and getattr(kept, name) != value:
            raise InputError(
                f"{option(name)} {value} differs from the run's own {getattr(kept, name)}; a resumed run keeps its "
                "settings, only --steps or --minutes may change"
            )
    lengths = {"steps": None, "minutes": None, **budget} if budget else {}
    return replace(kept, family=family, **lengths)  # pyright: ignore[reportArgumentType]


def solve_into(directory: RunDirectory, chosen: LevelOptions, resume: bool, as_json: bool) -> int:
    """Solve and leave everything in the directory; returns the exit code."""
    potential = chosen.build_potential()
    settings = chosen.build_settings(potential)
    say(f"{chosen.family} in {counted(chosen.dim, 'dimension')}, into {directory.path}")
    kept = chosen.resolved(settings, potential)
    record = Record(directory, kept.config(), resume)
    outcome = execute_levels(potential, settings, kept.build_budget(), record)
    if outcome.interrupted_by is not None:
        named = f"{chosen.family} " if is_own(chosen.family) else ""
        where = f"at step {outcome.steps:,}, state saved" if outcome.steps else "before the first step"
        say(f"interrupted {where}; go on with: prism solve {named}--resume {directory.path}")
        return 128 + outcome.interrupted_by
    report = finish_levels(directory, outcome, head(kept), kept.config())
    lines = [*outcome.describe(), f"everything is in {report['out']}; pictures in {report['out']}/plots"]
    answer(report, lines, as_json)
    outcome.warn()
    return 0


def head(chosen: LevelOptions) -> dict[str, object]:
    """The first entries of the report."""
    names = ("family", "dim", "coordinates", "seed", "optimiser", "modulation", "form", "rank", "networks")
    return {**{name: getattr(chosen, name) for name in names}, "estimator": f"gauss:{chosen.nodes}"}
