"""Arguments that several commands share. Most keep no default here, so that a command knows which were given."""

from argparse import _ActionsContainer

from prism.cli.numbers import real_number, whole_number


def add_run(command: _ActionsContainer) -> None:
    command.add_argument(
        "run_directory", metavar="RUN", help="The directory of a finished run, which `prism solve --out` made."
    )
    command.add_argument(
        "--family",
        metavar="FILE.py:NAME",
        help="The family of your own that the run solved, named again: no file is run because a run names it.",
    )


def add_mu(command: _ActionsContainer, required: bool = True) -> None:
    command.add_argument(
        "--mu",
        nargs="+",
        metavar="NAME=VALUE",
        required=required,
        default=None,
        help="The value of every parameter of the family, each once, such as mu1=0.7 mu2=1.2.",
    )


def add_query(command: _ActionsContainer, required: bool = True) -> None:
    """A finished run and a μ to ask at."""
    add_run(command)
    add_mu(command, required)


def add_output(
    command: _ActionsContainer, metavar: str, meaning: str, force: str | None, required: bool = False
) -> None:
    """--out, --force where it may replace something, and --json: always present, unlike the options of a method."""
    command.add_argument("--out", metavar=metavar, default=None, required=required, help=meaning)
    if force is not None:
        command.add_argument("--force", action="store_true", default=False, help=force)
    add_json(command)


def add_json(command: _ActionsContainer) -> None:
    command.add_argument(
        "--json",
        action="store_true",
        default=False,
        help="End with one line of JSON on standard output, for programs; words for people then go to standard error.",
    )


def add_family(command: _ActionsContainer, required: bool = True) -> None:
    command.add_argument(
        "family",
        nargs=None if required else "?",
        default=None,
        metavar="FAMILY",
        help="The name of a built-in family of equations; `prism list` names them, `prism list FAMILY` explains one. "
        "Or a family of your own, as FILE.py:NAME: a class, a family, or a function of the dimension that makes one.",
    )


def add_problem(problem: _ActionsContainer) -> None:
    """Which problem of a family."""
    problem.add_argument(
        "--dim",
        type=whole_number,
        metavar="D",
        help="The number of space dimensions, 2 to millions; time is not counted. Required, except for kdv2d, kp and "
        "gkdv, which have their own.",
    )
    problem.add_argument(
        "--bounds",
        action="append",
        metavar="NAME=LOW:HIGH",
        help="The interval of a parameter, instead of the family's own, such as mu1=0.1:2; once for each parameter "
        "that is to have another.",
    )
    problem.add_argument(
        "--space",
        metavar="LAW",
        help="How parameters are drawn from their intervals: uniform, or log-uniform, which suits intervals that span "
        "orders of magnitude. The default is the family's own law.",
    )
    problem.add_argument(
        "--scaled",
        action="store_true",
        help="A harder variant of the families in the ball (the first five of `prism list`): coordinates are stretched "
        "to order one, so that the problem is really d-dimensional.",
    )
    problem.add_argument(
        "--pairs",
        metavar="P",
        help="Which coordinates interact in the solution of the families in the ball: chain (neighbours, the default), "
        "random (random pairs), all (every one with every other; not for biharmonic) or none (u "
        "depends on |x| alone).",
    )
    problem.add_argument(
        "--wave",
        nargs="+",
        type=real_number,
        metavar="K",
        help="Which solitary wave: its wave numbers k and l for kdv2d (default 0.75 0.5) and kp (1 0.5), its speed c "
        "for gkdv (2).",
    )


def add_seed(command: _ActionsContainer, meaning: str) -> None:
    command.add_argument(
        "--seed",
        type=whole_number,
        metavar="S",
        help=f"The seed of what is random: {meaning} (default 0). With --steps, the same seed gives the same numbers "
        "on the same machine.",
    )
