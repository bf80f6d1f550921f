"""The options of `prism solve`: defaults, what is saved in config.json, and the objects they mean."""

import argparse
import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

from prism.cli.names import (
    ACTIVATIONS,
    FAMILIES,
    LOSSES,
    MODULATIONS,
    OPTIMISERS,
    PAIRINGS,
    lookup,
    parse_estimator,
    parse_space,
)
from prism.errors import InputError
from prism.families.two_body import TwoBodyFamily
from prism.networks import Architecture
from prism.residuals import Sampling
from prism.runs import Settings
from prism.streams import PROBLEM, stream
from prism.training.loop import Budget
from prism.training.memory import available_bytes

CROSSED_PARAMS = 10


@dataclass(frozen=True)
class SolveOptions:
    """Everything that decides a run, by name."""

    family: str
    dim: int
    scaled: bool = False
    bounds: list[str] = field(default_factory=list)
    space: str | None = None
    estimator: str | None = None
    loss: str = "shared"
    optimiser: str = "adam"
    rate: float = 1e-3
    modulation: str = "film"
    activation: str = "tanh"
    width: int = 128
    lift_width: int = 128
    depth: int = 4
    points: int = 100
    params: int | None = None
    pairing: str = "paired"
    steps: int | None = None
    minutes: float | None = None
    seed: int = 0
    checkpoint_seconds: float = 60.0

    def __post_init__(self):
        for name in ("width", "lift_width", "depth", "rate", "checkpoint_seconds"):
            if not 0 < getattr(self, name) < math.inf:
                option = name.replace("_", "-")
                raise InputError(f"--{option} {getattr(self, name)} is too small or too large; give a positive number")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} is out of range; give 0 to {2**32 - 1}")

    def estimator_name(self) -> str:
        """As given; else every direction where that is cheap, 16 random coordinates beyond."""
        if self.estimator is not None:
            return self.estimator
        return "exact" if self.dim <= 16 else "coordinates:16"

    def build_family(self) -> TwoBodyFamily:
        kind = lookup("family", FAMILIES, self.family)
        space = parse_space(kind, self.space, self.bounds)
        needed = 4 * self.dim * (self.lift_width + 1)
        if needed > available_bytes():
            raise InputError(
                f"--dim {self.dim}: the first layer alone needs {needed / 2**30:,.0f} GiB, more than is free; "
                "take a smaller --dim or --lift-width"
            )
        return kind.create(self.dim, stream(self.seed, PROBLEM), self.scaled, space)

    def build_settings(self) -> Settings:
        crossed = lookup("pairing", PAIRINGS, self.pairing)
        default_params = CROSSED_PARAMS if crossed else self.points
        params = default_params if self.params is None else self.params
        return Settings(
            parse_estimator(self.estimator_name()),
            lookup("optimiser", OPTIMISERS, self.optimiser)(self.rate),
            Architecture(
                lift_width=self.lift_width,
                width=self.width,
                depth=self.depth,
                modulation=lookup("modulation", MODULATIONS, self.modulation),
                activation=lookup("activation", ACTIVATIONS, self.activation)(),
            ),
            Sampling(self.points, params, crossed),
            lookup("loss", LOSSES, self.loss),
            self.seed,
            self.checkpoint_seconds,
        )

    def build_budget(self) -> Budget:
        return Budget(self.steps, self.minutes if self.steps is None else None)

    def config(self) -> dict[str, object]:
        return asdict(self)


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
                f"--{name.replace('_', '-')} {value} differs from the run's own {config.get(name)}; a resumed run "
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
