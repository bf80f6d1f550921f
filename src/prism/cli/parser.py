"""What can be typed. Options keep no default here, so that a command knows which were given."""

import argparse
import importlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import prism
from prism.cli import places, texts
from prism.cli.arguments import add_family, add_json, add_mu, add_output, add_problem, add_query, add_run, add_seed
from prism.cli.method_arguments import add_method
from prism.cli.numbers import real_number, repeated, whole_number
from prism.cli.speech import complain
from prism.cli.texts import Text


class StoreOnce(argparse._StoreAction):
    """An option with a value, refused where that is empty, or where it is given again: which of the two is meant is
    not known."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        if option_string is not None and getattr(namespace, self.dest, self.default) is not self.default:
            raise argparse.ArgumentError(self, "given twice; give it once")
        if values == "":
            raise argparse.ArgumentError(self, "the value is empty; give one, or leave the option out")
        super().__call__(parser, namespace, values, option_string)


class OneLineParser(argparse.ArgumentParser):
    """Errors in one line and exit code 2."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.register("action", None, StoreOnce)

    def error(self, message: str) -> NoReturn:
        words = re.sub(r"\S{60,}", lambda found: repeated(found[0]), message)
        complain("error", f"{words}; see `{self.prog} --help`")
        raise SystemExit(2)


def build_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="prism",
        description="Solve a whole family of high-dimensional PDEs with one network.",
        epilog="`prism COMMAND --help` explains a command and shows an example; `prism demo` is a first one to try.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"prism {prism.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_solve(commands)
    _add_structure(commands)
    _add_reference(commands)
    demo = _command(commands, "demo", texts.DEMO, "demo", places.for_demo)
    where = "The directory to write to (default runs/demo); an earlier run there is replaced."
    add_output(demo, "DIR", where, force=None)
    _add_predict(commands)
    _add_trust_and_tune(commands)
    _add_explore(commands)
    _add_export(commands)
    _add_invert(commands)
    _add_bench(commands)
    listing = _command(commands, "list", texts.LIST, "listing")
    add_family(listing, required=False)
    add_json(listing)
    completion = _command(commands, "completion", texts.COMPLETION, "completion")
    completion.add_argument("shell", metavar="SHELL", help="The shell: bash, zsh, fish, tcsh or powershell.")
    return parser


def _command(
    commands,
    name: str,
    text: Text,
    module: str,
    output: Callable[[argparse.Namespace], AbstractContextManager[Any]] = places.nothing,
    usage: str | None = None,
) -> argparse.ArgumentParser:
    """A command that runs prism.cli.MODULE, which is imported only then, with the `output` that it writes to."""
    command = commands.add_parser(
        name,
        usage=usage,
        help=text.purpose,
        description=text.description,
        epilog=text.example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )

    def run(options: argparse.Namespace, place: Any) -> int:
        return importlib.import_module(f"prism.cli.{module}").run(options, place)

    command.set_defaults(run=run, output=output)
    return command


def _add_solve(commands) -> None:
    usage = (
        "prism solve FAMILY --dim D [options]\n       prism solve FILE.py:NAME --dim D [options]\n"
        "       prism solve --resume DIR [options]"
    )
    solve = _command(commands, "solve", texts.SOLVE, "solve", places.for_solve, usage)
    problem = solve.add_argument_group("common options: the problem")
    add_family(problem, required=False)
    add_problem(problem)
    budget = solve.add_argument_group("common options: the budget")
    length = budget.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes",
        type=real_number,
        metavar="T",
        help="How long to train (default 1); what is compiled before and measured after does not count. More minutes "
        "make smaller errors; from 2 minutes on, some of them are spent on finding the lift that suits. With --resume "
        "it is the total, with what was trained before.",
    )
    length.add_argument(
        "--steps",
        type=whole_number,
        metavar="N",
        help="How many steps to train, instead of --minutes: the result then does not depend on how fast the machine "
        "is. With --resume it is the total.",
    )
    length.add_argument(
        "--more-minutes",
        type=real_number,
        metavar="T",
        help="With --resume: how long to train beyond what was trained.",
    )
    length.add_argument(
        "--more-steps", type=whole_number, metavar="N", help="With --resume: how many steps to make beyond those made."
    )
    add_seed(budget, "the problem's coefficients, the first network and the points")
    output = solve.add_argument_group("common options: the output")
    add_output(
        output,
        "DIR",
        "The directory of the run (default: a new one under runs/).",
        force="Replace an earlier run in --out; nothing but a run of prism is ever replaced.",
    )
    output.add_argument(
        "--resume",
        metavar="DIR",
        default=None,
        help="Go on with the run in this directory, under its own settings, to a total of --minutes or --steps, or for "
        "--more-minutes or --more-steps. Where the total is spent it says so and ends at once. A family of your own is "
        "named again: prism solve FILE.py:NAME --resume DIR.",
    )
    output.add_argument(
        "--checkpoint-seconds",
        type=real_number,
        metavar="T",
        help="How often the state is saved, from which a run that was killed goes on (default 60).",
    )
    add_method(solve)


def _add_structure(commands) -> None:
    structure = _command(commands, "structure", texts.STRUCTURE, "structure", places.for_structure)
    add_family(structure)
    add_problem(structure.add_argument_group("the problem"))
    add_seed(structure, "the problem's coefficients and the points it is probed at")
    add_output(
        structure,
        "DIR",
        "The directory for the picture and the list of pairs (default runs/structure-FAMILY-D).",
        force="Replace an earlier result in --out.",
    )


def _add_reference(commands) -> None:
    reference = _command(commands, "reference", texts.REFERENCE, "reference")
    add_family(reference)
    add_problem(reference.add_argument_group("the problem"))
    add_seed(reference, "the problem's coefficients")
    add_mu(reference)
    reference.add_argument(
        "--at",
        metavar="POINT",
        default=None,
        help="The point, of a family of PDEs: x=0,t=0.3, or x=0 for a family without time. A number is the value of "
        "every coordinate, a "
        "FILE in its place holds them all in one row.",
    )
    add_json(reference)


def _add_predict(commands) -> None:
    predict = _command(commands, "predict", texts.PREDICT, "predict", places.for_predict)
    add_query(predict, required=False)
    predict.add_argument(
        "--points",
        metavar="FILE",
        default=None,
        help="Required, except for the levels of a potential: the points, one per row (time last, where the family "
        "has it): .npy, .npz with points, or .csv with or "
        "without a header x1,x2,...,t; .gz, .bz2 and .xz of these too. A table that predict wrote is read too.",
    )
    predict.add_argument(
        "--grid",
        nargs="+",
        metavar="NAME=VALUES",
        default=None,
        help="Instead of --points: u on a grid of coordinates, x1=-1:1:101 for 101 values from -1 to 1, t=0.3 for one, "
        "mu1=0.7,1.2 for some. Other coordinates are at the centre; parameters are named here or by --mu. Needs "
        "prism-pde[explore]; --out is then a netCDF file, .nc.",
    )
    predict.add_argument(
        "--values-only", action="store_true", default=False, help="Leave the points out of what is written to --out."
    )
    predict.add_argument(
        "--refuse-outside",
        action="store_true",
        default=False,
        help="Refuse, with exit code 2, where μ or a point lies beyond what was trained; by default that is a warning, "
        "and a column `outside`.",
    )
    add_output(
        predict,
        "FILE",
        "The file for the table of points, values u and the flag `outside`: .csv with a header, or .npz; - writes it "
        "to standard output. By default the values alone are printed, one per line.",
        force="Replace an earlier file at --out.",
    )


def _add_trust_and_tune(commands) -> None:
    trust = _command(commands, "trust", texts.TRUST, "trust")
    add_query(trust)
    add_json(trust)
    tune = _command(commands, "tune", texts.TUNE, "tune", places.for_tune)
    add_query(tune)
    tune.add_argument(
        "--seconds", type=real_number, metavar="T", help="How long to train, with compilation (default 20)."
    )
    tune.add_argument(
        "--trains",
        metavar="P",
        help="Which numbers of the network are trained: diagonals (the singular values of its layers), modulators (the "
        "scales and shifts that μ sets), last-layer (the readout), or all (the default: these three).",
    )
    where = "The directory for the adapted solution."
    add_output(tune, "DIR", where, force="Replace an earlier one in --out.", required=True)


def _add_explore(commands) -> None:
    explore = _command(commands, "explore", texts.EXPLORE, "explore", places.for_explore)
    add_run(explore)
    explore.add_argument(
        "--coordinates",
        nargs="+",
        metavar="NAME",
        default=None,
        help="The coordinates that can be chosen in the page, at most eight, such as x1 x2 x17 (default: the first "
        "two, one in the middle, the last). Time can be chosen wherever there is time.",
    )
    explore.add_argument(
        "--serve",
        action="store_true",
        default=False,
        help="Show the page at an address of this machine (127.0.0.1, no other) until Ctrl-C: other coordinates can "
        "then be added in it. Nothing is written unless --out is given.",
    )
    explore.add_argument(
        "--port", type=whole_number, metavar="N", default=0, help="With --serve: the port (default: a free one)."
    )
    where = "The file to write (default: RUN.html, beside the directory of the run)."
    add_output(explore, "FILE", where, force="Replace an earlier file at --out.")


def _add_export(commands) -> None:
    export = _command(commands, "export", texts.EXPORT, "export", places.for_export)
    add_run(export)
    where = "The directory to write to (default: that of the run with -export behind its name)."
    add_output(export, "DIR", where, force="Replace an earlier export in --out.")


def _add_invert(commands) -> None:
    invert = _command(commands, "invert", texts.INVERT, "invert", places.for_invert)
    add_run(invert)
    invert.add_argument(
        "data",
        nargs="+",
        metavar="FILE",
        help="Observations, one per row: .csv of the coordinates and u, with or without a header x1,x2,...,t,u (of a "
        "potential .csv with the header level,value), or "
        ".npz with points and u. A table that predict wrote is read as it is. Each file is a data set of its own.",
    )
    invert.add_argument(
        "--noise",
        type=real_number,
        metavar="S",
        help="The standard deviation of the noise in the values. By default it is estimated from how well u fits.",
    )
    invert.add_argument(
        "--model-error",
        type=real_number,
        metavar="E",
        help="The relative L2 error of the run, which widens the intervals accordingly. Give it where the run's "
        "error is not small beside the noise.",
    )
    invert.add_argument(
        "--physics",
        type=real_number,
        metavar="W",
        help="How much the residual of the equation counts beside the data, as a prior for μ at which the run solves "
        "the equation well (default 0).",
    )
    where = "The directory for result.json and plots/. By default nothing is written."
    add_output(invert, "DIR", where, force="Replace an earlier result in --out.")


def _add_bench(commands) -> None:
    bench = _command(commands, "bench", texts.BENCH, "bench", places.for_bench)
    bench.add_argument("name", metavar="NAME", help="The name of the study; see below.")
    bench.add_argument(
        "--full",
        action="store_true",
        default=False,
        help="Measure for the whole time or at more dimensions, which takes up to fifteen times as long.",
    )
    where = "The directory for table, figure and numbers (default runs/bench-NAME)."
    add_output(bench, "DIR", where, force="Replace an earlier study in --out.")
