"""`prism solve`: train, evaluate, write the run's directory, say what was found."""

import argparse
from dataclasses import dataclass, replace

from prism.cli.configuration import given_options, new_options, resumed_options
from prism.cli.lifts import AUTO, lift_text
from prism.cli.names import KnownFamily
from prism.cli.options import SolveOptions
from prism.cli.speech import answer, say
from prism.numerics.compilation import keep_programs
from prism.reporting.records import RunDirectory
from prism.solving.lift_choice import has_room_for_trials, with_decided_lift
from prism.solving.runs import Outcome, Record, execute
from prism.solving.settings import Settings
from prism.solving.symmetry import with_norms
from prism.training.loop import Budget


def run(options: argparse.Namespace, directory: RunDirectory) -> int:
    given, resume = given_options(options), options.resume is not None
    chosen = resumed_options(given, directory.read_json("config.json")) if resume else new_options(given)
    return solve_into(directory, build(chosen), resume, options.json)


@dataclass(frozen=True)
class Task:
    """What was asked, in full, and the objects it means."""

    options: SolveOptions
    family: KnownFamily
    settings: Settings
    budget: Budget


def build(chosen: SolveOptions) -> Task:
    """Every option is turned into its object before a directory is touched, so that a mistake costs nothing."""
    keep_programs()
    budget, family = chosen.build_budget(), chosen.build_family()
    settings = chosen.build_settings(family)
    if chosen.lift is None and chosen.width is None and chosen.depth is None:
        normed = with_norms(family, settings, say, chosen.estimator is not None, chosen.activation is not None)
        settings = normed or settings
        if normed is None and has_room_for_trials(family, settings, budget):
            chosen = replace(chosen, lift=AUTO)
    return Task(chosen.resolved(settings), family, settings, budget)


def with_trials(task: Task, check: bool) -> Task:
    """The task with a lift chosen by trials."""
    decision = with_decided_lift(task.family, task.settings, task.budget, say, check)
    options = replace(task.options, lift=lift_text(decision.lift)).resolved(decision.settings)
    options = replace(options, minutes=decision.budget.minutes)
    return Task(options, task.family, decision.settings, decision.budget)


def solve_into(directory: RunDirectory, task: Task, resume: bool, as_json: bool) -> int:
    """Solve and leave everything in the directory; returns the exit code."""
    say(f"{task.options.family} in {task.options.dim:,} dimensions, into {directory.path}")
    check = bool(task.options.bounds) or task.options.space is not None
    if task.options.lift == AUTO:
        task, check = with_trials(task, check), False
    chosen = task.options
    outcome = execute(task.family, task.settings, task.budget, Record(directory, chosen.config(), resume), check=check)
    if outcome.interrupted_by is not None:
        say(f"interrupted at step {outcome.steps:,}, state saved; go on with: prism solve --resume {directory.path}")
        return 128 + outcome.interrupted_by
    report = finish(directory, chosen, outcome)
    answer(report, describe(outcome, report), as_json)
    return 0


def finish(directory: RunDirectory, chosen: SolveOptions, outcome: Outcome) -> dict[str, object]:
    """Write model/, plots/ and report.json; returns the report."""
    from prism.reporting.plots import save_plots

    report: dict[str, object] = {
        "family": chosen.family,
        "dim": chosen.dim,
        "scaled": chosen.scaled,
        "seed": chosen.seed,
        "optimiser": chosen.optimiser,
        "estimator": chosen.estimator,
        "modulation": chosen.modulation,
        "lift": chosen.lift,
        **outcome.report(),
        "out": str(directory.path),
    }
    outcome.solution.save(directory.model, chosen.config())
    save_plots(outcome.solution, outcome.evaluation, directory.metrics(), directory.plots)
    by_parameter = [] if outcome.evaluation is None else [vars(row) for row in outcome.evaluation.by_parameter]
    directory.write_json("report.json", {**report, "by_parameter": by_parameter})
    return report


def describe(outcome: Outcome, report: dict) -> list[str]:
    """The report for a reader."""
    return [
        f"{report['steps']:,} steps in {report['seconds']:.1f} s "
        f"({report['seconds_per_step'] * 1e3:.2f} ms per step, {report['pairs_per_second']:,.0f} pairs per second, "
        f"peak {report['peak_rss_mb']:,.0f} MB)",
        *outcome.describe(),
        f"everything is in {report['out']}; pictures in {report['out']}/plots",
    ]
