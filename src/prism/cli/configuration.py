"""The options of one `prism solve`: from the command line, and from the config.json of the run that it resumes."""

import argparse
import typing
from collections.abc import Mapping
from dataclasses import fields

from prism.cli.options import SolveOptions, option
from prism.errors import InputError


def given_options(options: argparse.Namespace) -> dict[str, object]:
    """Those of the command line that decide a run, and only those that were typed."""
    names = {entry.name for entry in fields(SolveOptions)}
    return {name: value for name, value in vars(options).items() if name in names and value is not None}


def new_options(given: Mapping[str, object]) -> SolveOptions:
    for name, example in (("family", "prism solve allen-cahn --dim 100"), ("dim", "--dim 100")):
        if name not in given:
            raise InputError(f"no {name} given; such as {example}")
    chosen = dict(given)
    if "steps" not in chosen:
        chosen.setdefault("minutes", 1.0)
    return SolveOptions(**chosen)  # pyright: ignore[reportArgumentType]


def resumed_options(given: Mapping[str, object], saved: object) -> SolveOptions:
    """An earlier run's own options; only its budget may be another."""
    config = _checked_config(saved)
    budget = {name: given[name] for name in ("steps", "minutes") if name in given}
    for name, value in given.items():
        if name not in budget and config.get(name) != value:
            raise InputError(
                f"{option(name)} {value} differs from the run's own {config.get(name)}; a resumed run "
                "keeps its settings, only --steps or --minutes may change"
            )
    kept = {name: value for name, value in config.items() if not (budget and name in ("steps", "minutes"))}
    return SolveOptions(**{**kept, **budget})  # pyright: ignore[reportArgumentType]


def _checked_config(saved: object) -> dict[str, object]:
    """The content of config.json, if it is an object with every option and nothing else, each of its type."""
    hints = typing.get_type_hints(SolveOptions)
    if not isinstance(saved, dict) or set(saved) != set(hints):
        raise InputError("config.json does not hold the options of this version of prism; start a new run")
    for name, hint in hints.items():
        kinds = typing.get_args(hint) if typing.get_origin(hint) is not list else (list,)
        if not any(_is_a(saved[name], kind) for kind in kinds or (hint,)):
            raise InputError(f"config.json: {name} cannot be {saved[name]!r}; mend it or start a new run")
    return saved


def _is_a(value: object, kind: type) -> bool:
    """isinstance, where true is no number and a whole number may stand for a float."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
