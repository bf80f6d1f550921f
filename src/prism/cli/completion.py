"""`prism completion SHELL`: a script with which a shell completes what is typed, made from the parser by shtab."""

import argparse
from collections.abc import Iterable, Iterator

import shtab

from prism.cli.bench import STUDIES
from prism.cli.lifts import LIFTS
from prism.cli.names import FAMILIES, LIFT_STEPS, LOSSES, OPTIMISERS, PAIRINGS, SPACES, TUNABLE, lookup
from prism.cli.parser import build_parser
from prism.cli.speech import answer
from prism.derivatives.taylor import ACTIVATIONS
from prism.families.two_body import PAIRS
from prism.networks.modulation import MODULATIONS

NAMES: dict[str, Iterable[str]] = {
    "family": FAMILIES,
    "name": STUDIES,
    "shell": shtab.SUPPORTED_SHELLS,
    "space": SPACES,
    "pairs": PAIRS,
    "optimiser": OPTIMISERS,
    "lift_step": LIFT_STEPS,
    "loss": LOSSES,
    "modulation": MODULATIONS,
    "activation": ACTIVATIONS,
    "lift": [name for name in LIFTS if name.islower()],
    "pairing": PAIRINGS,
    "trains": TUNABLE,
}
"""What may stand for an argument, by its name; of lifts those that need no number."""
PATHS = {"FILE": shtab.FILE, "FILE.py:NAME": shtab.FILE, "DIR": shtab.DIRECTORY, "RUN": shtab.DIRECTORY}
"""Which paths an argument means, by how it is shown in the help."""


def run(options: argparse.Namespace, _: None) -> int:
    lookup("shell", dict.fromkeys(shtab.SUPPORTED_SHELLS), options.shell)
    answer({}, [script(options.shell)], as_json=False)
    return 0


def script(shell: str) -> str:
    """The parser's commands and options, with what may follow them. It parses nothing, so that names which come after
    this script was made are refused or taken by the command itself."""
    parser = build_parser()
    for action in _arguments(parser):
        if action.metavar in PATHS:
            action.complete = PATHS[action.metavar]  # pyright: ignore[reportAttributeAccessIssue]
        elif action.dest in NAMES:
            action.choices = list(NAMES[action.dest])
    return shtab.complete(parser, shell)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from command._actions
        else:
            yield action
