"""The options of `prism solve`: defaults, what is saved in config.json, and the objects they mean."""

import argparse
import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace

from prism.cli.names import (
    ACTIVATIONS,
    FAMILIES,
    LIFT_STEPS,
    LOSSES,
    MODULATIONS,
    OPTIMISERS,
    PAIRINGS,
    KnownFamily,
    estimator_text,
    lookup,
    parse_estimator,
    parse_slopes,
    parse_space,
)
from prism.errors import InputError
from prism.families.two_body import TwoBodyFamily
from prism.numerics.keys import PROBLEM, stream
from prism.objective.objective import Sampling
from prism.solving.settings import Completed, Settings, default_optimiser
from prism.training.loop import Budget
from prism.training.memory import available_bytes
from prism.training.natural.spring import Spring
from prism.training.optimisers import Adam, Optimiser

CROSSED_PARAMS = 10
SIZES = ("lift_width", "width", "depth", "generator_width", "affine")


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
    slopes: str = "off"
    optimiser: str = "spring"
    rate: float | None = None
    damping: float | None = None
    momentum: float | None = None
    lift_step: str | None = None
    modulation: str = "film"
    activation: str | None = None
    width: int | None = None
    lift_width: int | None = None
    depth: int | None = None
    generator_width: int | None = None
    affine: int | None = None
    points: int | None = None
    params: int | None = None
    pairing: str = "paired"
    steps: int | None = None
    minutes: float | None = None
    seed: int = 0
    checkpoint_seconds: float = 60.0

    def __post_init__(self):
        for name in ("width", "lift_width", "depth", "generator_width", "rate", "damping", "checkpoint_seconds"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{_option(name)} {value} is too small or too large; give a positive number")
        if self.affine is not None and self.affine < 0:
            raise InputError(f"--affine {self.affine} is negative; give a number of channels, or 0 for none")
        if self.momentum is not None and not 0 <= self.momentum < 1:
            raise InputError(f"--momentum {self.momentum} is out of range; give 0 up to, but without, 1")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} is out of range; give 0 to {2**32 - 1}")

    def build_family(self) -> KnownFamily:
        kind = lookup("family", FAMILIES, self.family)
        space = parse_space(kind, self.space, self.bounds)
        width = self.lift_width or 64
        needed = 4 * self.dim * (width + 1)
        if needed > available_bytes():
            raise InputError(
                f"--dim {self.dim}: the first layer alone needs {needed / 2**30:,.0f} GiB, more than is free; "
                "take a smaller --dim or --lift-width"
            )
        key = stream(self.seed, PROBLEM)
        if issubclass(kind, TwoBodyFamily):
            return kind.create(self.dim, key, self.scaled, space)
        if self.scaled:
            raise InputError(f"--scaled is a variant of the two-body families; {self.family} has none, leave it out")
        return kind.create(self.dim, key, space)

    def build_settings(self, family: KnownFamily) -> Completed:
        """The objects these options mean; those not given as `Settings` chooses them for the family."""
        optimiser = self._optimiser(family)
        default = Settings(optimiser=optimiser).completed(family)
        sizes = {name: getattr(self, name) for name in SIZES if getattr(self, name) is not None}
        architecture = replace(
            default.architecture,
            modulation=lookup("modulation", MODULATIONS, self.modulation),
            **sizes,
        )
        if self.activation is not None:
            architecture = replace(architecture, activation=lookup("activation", ACTIVATIONS, self.activation)())
        return replace(
            default,
            estimator=default.estimator if self.estimator is None else parse_estimator(self.estimator),
            architecture=architecture,
            sampling=self._sampling(default.sampling.points),
            independent=lookup("loss", LOSSES, self.loss),
            slopes=parse_slopes(self.slopes),
            seed=self.seed,
            checkpoint_seconds=self.checkpoint_seconds,
        )

    def _sampling(self, default_points: int) -> Sampling:
        crossed = lookup("pairing", PAIRINGS, self.pairing)
        points = default_points if self.points is None else self.points
        if crossed and self.points is None:
            points = max(1, points // CROSSED_PARAMS)
        default_params = CROSSED_PARAMS if crossed else points
        return Sampling(points, default_params if self.params is None else self.params, crossed)

    def _optimiser(self, family: KnownFamily) -> Optimiser:
        kind = lookup("optimiser", OPTIMISERS, self.optimiser)
        given = {
            name: getattr(self, name) for name in ("rate", "damping", "momentum") if getattr(self, name) is not None
        }
        if kind is Adam and (set(given) - {"rate"} or self.lift_step is not None):
            raise InputError(
                "--damping, --momentum and --lift-step belong to --optimiser spring; adam has --rate alone"
            )
        if self.lift_step is not None:
            in_kernel, slopes = lookup("step of the lift", LIFT_STEPS, self.lift_step)
            given |= {"in_kernel": in_kernel, "slopes": slopes}
        return replace(default_optimiser(family) if kind is Spring else kind(), **given)

    def resolved(self, settings: Completed) -> "SolveOptions":
        """With nothing left open: what config.json keeps, so that a later version's defaults do not matter."""
        optimiser, sizes = settings.optimiser, {name: getattr(settings.architecture, name) for name in SIZES}
        natural = isinstance(optimiser, Spring)
        steps = {value: name for name, value in LIFT_STEPS.items()}
        return replace(
            self,
            estimator=estimator_text(settings.estimator),
            rate=optimiser.rate,  # pyright: ignore[reportAttributeAccessIssue]
            damping=optimiser.damping if natural else None,
            momentum=optimiser.momentum if natural else None,
            lift_step=steps[optimiser.in_kernel, optimiser.slopes] if natural else None,
            activation=next(
                name for name, kind in ACTIVATIONS.items() if type(settings.architecture.activation) is kind
            ),
            points=settings.sampling.points,
            params=settings.sampling.params,
            **sizes,
        )

    def build_budget(self) -> Budget:
        return Budget(self.steps, self.minutes if self.steps is None else None)

    def config(self) -> dict[str, object]:
        return asdict(self)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
                f"{_option(name)} {value} differs from the run's own {config.get(name)}; a resumed run "
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
