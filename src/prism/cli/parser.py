"""What can be typed. Options keep no default here, so that a command knows which were given."""

import argparse
import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import prism
from prism.cli import places

SOLVE_EXAMPLE = """example:
  prism solve allen-cahn --dim 100 --minutes 1 --out runs/first
  solves Δu + μ₁u − μ₂u³ = f in the unit ball of 100 dimensions for all μ in [0.5, 1.5]² at once, and leaves the
  network, its errors beside the baselines and the pictures in runs/first; then, for a longer run from there:
  prism solve --resume runs/first --minutes 3
"""
STRUCTURE_EXAMPLE = """example:
  prism structure sine-gordon --dim 200 --scaled --pairs random --out runs/structure
  finds the pairs of coordinates that interact in the source, draws them, and names the lift to solve it with.
"""
REFERENCE_EXAMPLE = """example:
  prism reference heat --dim 10000 --mu mu1=1 --at x=0,t=0.3
  u at the origin at t = 0.3, from an independent computation, with its uncertainty. x=0 is the origin, x=0.1 the point
  whose coordinates are all 0.1, x=FILE a point from a .csv or .npy file.
"""
DEMO_EXAMPLE = """example:
  prism demo --out runs/demo
"""
PREDICT_EXAMPLE = """example:
  prism predict runs/first --mu mu1=0.7 mu2=1.2 --points points.csv --out values.csv
  reads one point per row (.csv of numbers, or .npy) and writes u at each (.csv, or .npz with the points).
"""
TRUST_EXAMPLE = """example:
  prism trust runs/first --mu mu1=2.0 mu2=1.2
  tells whether μ lies in the trained box, how large the equation's residual is there, and which error that means. The
  first query calibrates on held-out parameters and keeps the result in the run's trust.json.
"""
TUNE_EXAMPLE = """example:
  prism tune runs/first --mu mu1=2.0 mu2=1.2 --out runs/first-at-2-1.2
  adapts the solution to one μ, inside or outside the trained box, and leaves a solution that prism predict reads.
"""
EXPORT_EXAMPLE = """example:
  prism export runs/first --out first
  writes first/solution.py, which needs NumPy alone, and first/solution.stablehlo for JAX without PRISM, both compared
  with the run's own solution before they are written; first/README.md tells how to use them.
"""
INVERT_EXAMPLE = """example:
  prism invert runs/first data.csv --noise 0.01 --out runs/first-inverted
  reads one observation per row (the coordinates, then the value of u; or .npz with points and values), infers μ with
  95 % intervals, says what the data do not determine, and draws the likelihood. Several files: several data sets.
"""
BENCH_EXAMPLE = """example:
  prism bench estimators --out runs/estimators
  measures variance, bias, cost and error of each estimator at 100 to 100,000 dimensions; --full takes longer for each.
  The other studies: solvers (the default with one thing changed at a time), motivation (one network for all β against
  one for each), sampling (how β is drawn), transfer (asked at β never seen), variance (of the gradient over the box),
  decoupling (what μ costs), modulation (what γ and β are worth), structure (each lift on problems of each structure),
  blocks (weights shared in blocks, to 5,000,000 dimensions), parabolic (semilinear equations at one point, beside
  DeepBSDE and deep splitting), hjb (control, with and without worst-case training), trust (the error estimated at 200
  parameters beside the true one), inversion (how often its intervals hold the truth).
"""
LIST_EXAMPLE = """example:
  prism list --json
"""


class OneLineParser(argparse.ArgumentParser):
    """Errors in one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        print(f"prism: error: {message}; see `{self.prog} --help`", file=sys.stderr)
        raise SystemExit(2)


def build_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="prism", description="Solve a whole family of high-dimensional PDEs with one network.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"prism {prism.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_solve(commands)
    _add_structure(commands)
    _add_reference(commands)
    purpose = "a first solution with pictures, in about a minute"
    demo = _command(commands, "demo", purpose, DEMO_EXAMPLE, "demo", places.for_demo)
    _add_output(demo, "DIR", "where to (default runs/demo); an earlier run there is replaced", force=None)
    _add_predict(commands)
    _add_after_training(commands)
    bench = _command(
        commands, "bench", "a study of the method: its table, figure and JSON", BENCH_EXAMPLE, "bench", places.for_bench
    )
    bench.add_argument("name", metavar="NAME", help="the study; see below")
    bench.add_argument("--full", action="store_true", default=False, help="the whole time, up to ten times as long")
    _add_output(bench, "DIR", "where to (default runs/bench-NAME)", force="replace an earlier study in --out")
    listing = _command(commands, "list", "families, estimators, modulations, optimisers", LIST_EXAMPLE, "listing")
    _add_json(listing)
    return parser


def _command(
    commands,
    name: str,
    purpose: str,
    example: str,
    module: str,
    output: Callable[[argparse.Namespace], AbstractContextManager[Any]] = places.nothing,
) -> argparse.ArgumentParser:
    """A command that runs prism.cli.MODULE, which is imported only then, with the `output` that it writes to."""
    command = commands.add_parser(
        name,
        help=purpose,
        description=purpose[0].upper() + purpose[1:] + ".",
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    run = lambda options, place: importlib.import_module(f"prism.cli.{module}").run(options, place)
    command.set_defaults(run=run, output=output)
    return command


def _add_predict(commands) -> None:
    purpose = "u at given points and any μ, from a run"
    predict = _command(commands, "predict", purpose, PREDICT_EXAMPLE, "predict", places.for_predict)
    _add_query(predict)
    predict.add_argument("--points", metavar="FILE", required=True, help=".npy, or .csv without a header")
    _add_output(predict, "FILE", ".csv or .npz (default -: standard output)", force="replace an earlier file at --out")


def _add_after_training(commands) -> None:
    """What is done with a finished run besides reading its values."""
    trust = _command(commands, "trust", "how far to trust a run's solution at a μ", TRUST_EXAMPLE, "trust")
    _add_query(trust)
    _add_json(trust)
    tune = _command(commands, "tune", "adapt a run's solution to one μ", TUNE_EXAMPLE, "tune", places.for_tune)
    _add_query(tune)
    tune.add_argument("--seconds", type=float, metavar="T", help="with compilation (default 20)")
    tune.add_argument("--trains", metavar="P", help="all (default), diagonals, modulators, last-layer")
    _add_output(tune, "DIR", "where the adapted solution goes", force="replace an earlier one in --out", required=True)
    purpose = "a run as StableHLO and for NumPy alone"
    export = _command(commands, "export", purpose, EXPORT_EXAMPLE, "export", places.for_export)
    _add_run(export)
    _add_output(export, "DIR", "where to (default RUN-export)", force="replace an earlier export in --out")
    purpose = "μ from noisy values of u, with intervals"
    invert = _command(commands, "invert", purpose, INVERT_EXAMPLE, "invert", places.for_invert)
    _add_run(invert)
    invert.add_argument("data", nargs="+", metavar="FILE", help=".csv without a header, or .npz; one data set each")
    invert.add_argument("--noise", type=float, metavar="S", help="standard deviation (default: from the residual)")
    invert.add_argument("--model-error", type=float, metavar="E", help="relative L2 error of the run, added to it")
    invert.add_argument("--physics", type=float, metavar="W", help="weight of the equation's residual as a prior")
    _add_output(invert, "DIR", "for result.json and plots/", force="replace an earlier result in --out")


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("run_directory", metavar="RUN", help="directory of a finished run")


def _add_query(command: argparse.ArgumentParser) -> None:
    """A finished run and a μ to ask at."""
    _add_run(command)
    command.add_argument("--mu", nargs="+", metavar="NAME=VALUE", required=True, help="every parameter once")


def _add_output(command, metavar: str, meaning: str, force: str | None, required: bool = False) -> None:
    """--out, --force where it may replace something, and --json: always present, unlike the options of a method."""
    command.add_argument("--out", metavar=metavar, default=None, required=required, help=meaning)
    if force is not None:
        command.add_argument("--force", action="store_true", default=False, help=force)
    _add_json(command)


def _add_json(command) -> None:
    meaning = "end with one line of JSON on standard output"
    command.add_argument("--json", action="store_true", default=False, help=meaning)


def _add_problem(command: argparse.ArgumentParser) -> None:
    problem = command.add_argument_group("the problem")
    problem.add_argument("--dim", type=int, metavar="D", help="space dimensions, 2 to millions")
    problem.add_argument("--scaled", action="store_true", help="the two-body families with coordinates of order one")
    problem.add_argument(
        "--pairs", metavar="P", help="which coordinates interact in them: chain (default), random, all or none"
    )
    problem.add_argument(
        "--bounds", action="append", metavar="NAME=LOW:HIGH", help="of a parameter, instead of the family's own"
    )
    problem.add_argument("--space", metavar="LAW", help="law of the parameters: uniform or log-uniform")


def _add_structure(commands) -> None:
    purpose = "which coordinates interact, read off the equation, and the lift that suits"
    structure = _command(commands, "structure", purpose, STRUCTURE_EXAMPLE, "structure", places.for_structure)
    structure.add_argument("family", metavar="FAMILY", help="see `prism list`")
    _add_problem(structure)
    structure.add_argument("--seed", type=int, metavar="S", help="of problem and points (default 0)")
    _add_output(structure, "DIR", "where to (default runs/structure-FAMILY-D)", force="replace an earlier one in --out")


def _add_reference(commands) -> None:
    purpose = "the solution at one point without a network, with its uncertainty"
    reference = _command(commands, "reference", purpose, REFERENCE_EXAMPLE, "reference")
    reference.add_argument("family", metavar="FAMILY", help="see `prism list`")
    _add_problem(reference)
    reference.add_argument("--seed", type=int, metavar="S", help="of the problem (default 0)")
    reference.add_argument("--mu", nargs="+", metavar="NAME=VALUE", required=True, help="every parameter once")
    reference.add_argument("--at", metavar="POINT", required=True, help="x=0,t=0.3")
    _add_json(reference)


def _add_solve(commands) -> None:
    purpose = "train one network for a family of PDEs and measure it"
    solve = _command(commands, "solve", purpose, SOLVE_EXAMPLE, "solve", places.for_solve)
    solve.add_argument("family", nargs="?", default=None, metavar="FAMILY", help="see `prism list`")
    _add_problem(solve)
    method = solve.add_argument_group("the method")
    method.add_argument(
        "--estimator", metavar="E", help="gram, exact, coordinates:16, rademacher:8, gaussian:8, ...:shared"
    )
    method.add_argument("--loss", metavar="L", help="shared (default) or independent")
    method.add_argument(
        "--slopes", metavar="S", help="∇ₓr in the loss: off (default), N random directions, or whole (adam alone)"
    )
    method.add_argument(
        "--worst-case", type=int, metavar="STEPS", help="steps that points climb on the residual before each step"
    )
    method.add_argument("--optimiser", metavar="O", help="spring (default: natural gradient) or adam")
    method.add_argument("--rate", type=float, metavar="R", help="first rate (default: spring 0.5, adam 1e-3)")
    method.add_argument("--damping", type=float, metavar="L", help="of spring's kernel, relative (default 1e-4)")
    method.add_argument("--momentum", type=float, metavar="M", help="of spring (default 0.8)")
    method.add_argument("--lift-step", metavar="S", help="of spring: slopes, kernel or both (default: by the family)")
    method.add_argument("--modulation", metavar="M", help="film (default), scale, shift, concat, none")
    method.add_argument("--activation", metavar="A", help="tanh (default), sin (with time), ...; see `prism list`")
    method.add_argument(
        "--width", type=int, metavar="W", help="of the manifold's layers (default: spring 64, adam 128)"
    )
    method.add_argument(
        "--lift",
        metavar="L",
        help="how a point enters: sites:2, dense:64+affine:4, ...; see `prism list` (default: auto from 2 minutes on)",
    )
    method.add_argument("--depth", type=int, metavar="L", help="activated layers (default: spring 3, adam 4)")
    method.add_argument("--generator-width", type=int, metavar="W", help="(default: spring 32, adam 64)")
    method.add_argument("--points", type=int, metavar="N", help="per batch (default: spring 400 or fewer, adam 100)")
    method.add_argument("--params", type=int, metavar="M", help="per batch, crossed with all its points (default 10)")
    method.add_argument(
        "--pairing", metavar="P", help="paired (default: one parameter per point) or crossed (default with --params)"
    )
    budget = solve.add_argument_group("the budget")
    length = budget.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, metavar="N", help="number of steps")
    length.add_argument("--minutes", type=float, metavar="T", help="training with compilation (default 1)")
    budget.add_argument("--seed", type=int, metavar="S", help="of problem, network and sampling (default 0)")
    output = solve.add_argument_group("the output")
    output.add_argument(
        "--resume", metavar="DIR", default=None, help="go on with an earlier run, under its own settings"
    )
    _add_output(output, "DIR", "directory of the run (default under runs/)", force="replace an earlier run in --out")
    output.add_argument("--checkpoint-seconds", type=float, metavar="T", help="between checkpoints (default 60)")
