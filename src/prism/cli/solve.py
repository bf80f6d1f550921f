"""`prism solve`: train, evaluate, write the run's directory, say what was found."""

import argparse
from dataclasses import dataclass, replace

from prism.cli.configuration import given_options, new_options, resumed_options
from prism.cli.levels.options import is_potential, refuse_level_options
from prism.cli.levels.solve import run_levels
from prism.cli.lifts import AUTO, lift_text
from prism.cli.options import SolveOptions
from prism.cli.own_families import is_own
from prism.cli.speech import answer, say
from prism.errors import InputError
from prism.numerics.compilation import keep_programs
from prism.numerics.texts import counted
from prism.problem.family import Family
from prism.problem.fingerprint import same_equation
from prism.reporting.records import RunDirectory
from prism.solving.following import NOTHING, Spent
from prism.solving.lift_choice import has_room_for_trials, with_decided_lift
from prism.solving.refusals import refuse_long_points
from prism.solving.results import Standing, finish, finished_report, warn_of
from prism.solving.runs import execute
from prism.solving.sessions import Record
from prism.solving.settings import FEWEST_NATURAL_POINTS, Settings
from prism.solving.symmetry import with_norms
from prism.training.loop import Budget


def run(options: argparse.Namespace, directory: RunDirectory) -> int:
    more = (getattr(options, "more_steps", None), getattr(options, "more_minutes", None))
    if is_of_levels(options, directory):
        return run_levels(options, directory, more)
    refuse_level_options(options)
    given = given_options(options)
    if options.resume is None:
        return solve_into(directory, build(new_options(given, more)), resume=False, as_json=options.json)
    standing, config = Standing.of(directory), directory.read_json("config.json")
    standing.identity.check_config(config, directory.path)
    chosen = resumed_options(given, config, str(directory.path / "config.json"), standing, more)
    budget = chosen.build_budget()
    standing.check(budget)
    if standing.has_spent(budget) and (report := finished_report(directory, standing.step)) is not None:
        advice = f"add to it with --more-minutes, or give a larger total; its report is in {directory.path}/report.json"
        say(f"{standing.describe(budget)}; {advice}")
        answer(report, [], options.json)
        warn_of(report, stacklevel=1)
        return 0
    gone = f"{standing.step:,} steps and {standing.spent.seconds / 60:.2g} minutes"
    say(f"{gone} of training are done; the total is {budget.describe()}")
    task = build(chosen)
    standing.identity.check_family(task.family)
    if not same_equation(chosen.equation, task.options.equation):
        raise InputError(f"{directory.path} is a run of another equation than {chosen.family} is now; start a new run")
    return solve_into(directory, task, resume=True, as_json=options.json)


def is_of_levels(options: argparse.Namespace, directory: RunDirectory) -> bool:
    """Whether a potential is solved for its levels, as its name or the run that is resumed says."""
    if options.resume is not None and getattr(options, "family", None) is None:
        return "levels" in directory.read_json("config.json")
    return is_potential(options.family)


@dataclass(frozen=True)
class Task:
    """What was asked, in full, and the objects it means."""

    options: SolveOptions
    family: Family
    settings: Settings
    budget: Budget
    spent: Spent = NOTHING


def build(chosen: SolveOptions) -> Task:
    """Every option is turned into its object before a directory is touched, so that a mistake costs nothing."""
    keep_programs()
    refuse_long_points(chosen.dim, min(chosen.points or FEWEST_NATURAL_POINTS, FEWEST_NATURAL_POINTS))
    budget, family = chosen.build_budget(), chosen.build_checked_family()
    settings = chosen.build_settings(family)
    if chosen.lift is None and chosen.width is None and chosen.depth is None:
        normed = with_norms(family, settings, say, chosen.estimator is not None, chosen.activation is not None)
        settings = normed or settings
        if normed is None and has_room_for_trials(family, settings, budget):
            chosen = replace(chosen, lift=AUTO)
    return Task(chosen.resolved(settings, family), family, settings, budget)


def with_trials(task: Task) -> Task:
    """The task with a lift chosen by trials."""
    decision = with_decided_lift(task.family, task.settings, task.budget, say, check=False)
    options = replace(task.options, lift=lift_text(decision.lift)).resolved(decision.settings, task.family)
    options = replace(options, minutes=decision.budget.minutes)
    return Task(options, task.family, decision.settings, decision.budget, decision.spent)


def solve_into(directory: RunDirectory, task: Task, resume: bool, as_json: bool) -> int:
    """Solve and leave everything in the directory; returns the exit code."""
    say(f"{task.options.family} in {counted(task.options.dim, 'dimension')}, into {directory.path}")
    if task.options.lift == AUTO:
        task = with_trials(task)
    chosen = task.options
    record = Record(directory, chosen.config(), resume)
    outcome = execute(task.family, task.settings, task.budget, record, check=False, spent=task.spent)
    if outcome.interrupted_by is not None:
        named = f"{chosen.family} " if is_own(chosen.family) else ""
        again = f"prism solve {named}--resume {directory.path}"
        where = f"at step {outcome.steps:,}, state saved" if outcome.steps else "before the first step"
        say(f"interrupted {where}; go on with: {again}")
        return 128 + outcome.interrupted_by
    report = finish(directory, outcome, head(chosen), chosen.config())
    lines = [*outcome.describe(), f"everything is in {report['out']}; pictures in {report['out']}/plots"]
    answer(report, lines, as_json)
    if outcome.unmeasured is not None:
        raise InputError(f"{outcome.unmeasured}; it is kept in {directory.path}")
    outcome.warn()
    return 0


def head(chosen: SolveOptions) -> dict[str, object]:
    """The first entries of the report."""
    names = ("family", "dim", "scaled", "seed", "optimiser", "estimator", "modulation", "lift")
    return {name: getattr(chosen, name) for name in names}
