"""The options of `prism solve` for a potential: what each may be, and the objects they mean."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from prism.cli.names import OPTIMISERS, lookup, parse_space
from prism.cli.options import SolveOptions, option
from prism.cli.own_families import OwnFamily, is_own, load_own
from prism.derivatives.taylor import ACTIVATIONS
from prism.eigen.fingerprint import fingerprint
from prism.eigen.forms import Form, Product, Sum, Train
from prism.eigen.natural import EnergyGradient
from prism.eigen.network import FactorArchitecture
from prism.eigen.settings import ADAM_RATE, MOST_EXCITED, USUAL_BOND, EigenSettings, usual_form, usual_optimiser
from prism.errors import InputError
from prism.families.anharmonic_chain import AnharmonicChain
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator
from prism.files.reading import blaming, converted
from prism.networks.modulation import MODULATIONS
from prism.numerics.ranges import MOST_COUNTED, fits_single_precision
from prism.problem.checks.potential import check_potential
from prism.problem.potential import Potential
from prism.training.loop import Budget
from prism.training.optimisers import Adam, Optimiser

POTENTIALS: dict[str, type[Potential]] = {"cqho": CoupledOscillator, "anharmonic-chain": AnharmonicChain}
COORDINATES: dict[str, type[Potential]] = {"modes": CoupledOscillator, "plain": PlainCoupledOscillator}
"""Of cqho."""
FORMS: dict[str, type[Form]] = {"product": Product, "sum": Sum, "train": Train}
NETWORKS = {"shared": True, "own": False}
SIZES = ("width", "depth", "generator_width")
SAMPLED = {"points": "coordinates", "params": "params", "nodes": "nodes"}
"""Options of the batch, and what of `EnergySampling` each is."""
LEVELS_ALONE = ("coordinates", "levels", "form", "rank", "networks", "nodes")
"""Options of potentials that families have not."""


@dataclass(frozen=True)
class LevelOptions:
    """Everything that decides a run, by name."""

    family: str
    """A name of the catalogue, or FILE.py:NAME."""
    dim: int
    family_sha256: str | None = None
    equation: str | None = None
    coordinates: str | None = None
    bounds: list[str] = field(default_factory=list)
    space: str | None = None
    levels: int = 1
    form: str | None = None
    rank: int | None = None
    networks: str = "shared"
    optimiser: str | None = None
    rate: float | None = None
    damping: float | None = None
    modulation: str = "film"
    activation: str | None = None
    width: int | None = None
    depth: int | None = None
    generator_width: int | None = None
    points: int | None = None
    params: int | None = None
    nodes: int | None = None
    steps: int | None = None
    minutes: float | None = None
    seed: int = 0
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in (*SIZES, *SAMPLED, "rank", "levels", "steps", "dim"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST_COUNTED:
                raise InputError(f"{option(name)} {value} is out of range; give 1 to {MOST_COUNTED}")
        for name in ("rate", "damping", "checkpoint_seconds", "minutes"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and fits_single_precision(value)):
                raise InputError(f"{option(name)} {value:g} is out of range; give a positive number")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} is out of range; give 0 to {2**32 - 1}")

    def build_potential(self) -> Potential:
        if self.coordinates is not None and self.family != "cqho":
            raise InputError(f"--coordinates is of cqho; {self.family} has its own, leave it out")
        if is_own(self.family):
            if self.bounds or self.space:
                raise InputError(f"--bounds and --space are of built-in potentials; change {self.family}")
            return own_potential(load_own(self.family), self.dim)
        kind = lookup("potential", POTENTIALS, self.family)
        if self.coordinates is not None:
            kind = lookup("kind of coordinates", COORDINATES, self.coordinates)
        space = parse_space(kind.box, self.space, self.bounds)  # pyright: ignore[reportAttributeAccessIssue]
        return kind.create(self.dim, None, space)  # pyright: ignore[reportAttributeAccessIssue]

    def build_settings(self, potential: Potential) -> EigenSettings:
        """The objects these options mean; those not given as `EigenSettings` chooses them."""
        architecture = self._architecture()
        form = self._form()
        optimiser = self._optimiser(usual_form(potential, self.levels) if form is None else form, architecture)
        usual = EigenSettings.choose(potential, form, architecture, optimiser, None, self.levels, self.seed)
        changed = {of: getattr(self, name) for name, of in SAMPLED.items() if getattr(self, name) is not None}
        settings = replace(
            usual, sampling=replace(usual.sampling, **changed), checkpoint_seconds=self.checkpoint_seconds
        )
        settings.check(potential)
        return settings

    def _architecture(self) -> FactorArchitecture:
        sizes = {name: getattr(self, name) for name in SIZES if getattr(self, name) is not None}
        architecture = FactorArchitecture(
            **sizes,
            modulation=lookup("modulation", MODULATIONS, self.modulation),
            shared=lookup("kind of networks", NETWORKS, self.networks),
        )
        if self.activation is None:
            return architecture
        return replace(architecture, activation=lookup("activation", ACTIVATIONS, self.activation)())

    def _optimiser(self, form: Form, architecture: FactorArchitecture) -> Optimiser:
        usual = usual_optimiser(form, architecture)
        kind = type(usual) if self.optimiser is None else lookup("optimiser", OPTIMISERS, self.optimiser)
        given = {name: getattr(self, name) for name in ("rate", "damping") if getattr(self, name) is not None}
        if kind is not Adam:
            return EnergyGradient(**given)
        if "damping" in given:
            raise InputError("--damping belongs to --optimiser spring, of a product; adam has --rate alone")
        return Adam(**{"rate": ADAM_RATE, **given})

    def _form(self) -> Form | None:
        """As it was asked for; a rank means a train where nothing else is said."""
        if self.form is None and self.rank is None:
            return None
        name = self.form or "train"
        kind = lookup("form", FORMS, name)
        if kind is Product:
            if self.rank not in (None, 1):
                raise InputError(f"--rank {self.rank}: a product has rank 1; take --form sum or --form train")
            return Product(min(self.levels - 1, MOST_EXCITED))
        return kind(self.rank or USUAL_BOND)  # pyright: ignore[reportCallIssue]

    def resolved(self, settings: EigenSettings, potential: Potential) -> "LevelOptions":
        """With nothing left open: what config.json keeps, so that a later version's defaults do not matter."""
        form, architecture, sampling = settings.form, settings.architecture, settings.sampling
        optimiser = settings.optimiser
        return replace(
            self,
            family_sha256=load_own(self.family).sha256 if is_own(self.family) else None,
            equation=fingerprint(potential),
            coordinates=next((name for name, kind in COORDINATES.items() if type(potential) is kind), None),
            form=next(name for name, kind in FORMS.items() if type(form) is kind),
            rank=form.rank,
            optimiser="adam" if isinstance(optimiser, Adam) else "spring",
            rate=optimiser.rate,
            damping=optimiser.damping if isinstance(optimiser, EnergyGradient) else None,
            activation=next(name for name, kind in ACTIVATIONS.items() if type(architecture.activation) is kind),
            **{name: getattr(architecture, name) for name in SIZES},
            **{name: getattr(sampling, of) for name, of in SAMPLED.items()},
        )

    def build_budget(self) -> Budget:
        return Budget(self.steps, self.minutes if self.steps is None else None)

    def config(self) -> dict[str, object]:
        return asdict(self)


def own_potential(own: OwnFamily, dimension: int) -> Potential:
    """A potential of the user's own in so many dimensions."""
    if isinstance(own.found, Potential):
        if own.found.dimension != dimension:
            raise InputError(f"{own.text} has {own.found.dimension} dimensions; give --dim {own.found.dimension}")
        check_potential(own.found)
        return own.found
    potential = own.made(dimension, lambda kind: kind(dimension=dimension))
    if not isinstance(potential, Potential):
        raise InputError(f"{own.text} makes {type(potential).__name__}, which is no prism.Potential")
    check_potential(potential)
    return potential


def is_potential(text: object) -> bool:
    """Whether a family that is named on the command line is a potential."""
    if not isinstance(text, str):
        return False
    if not is_own(text):
        return text in POTENTIALS
    found: Any = load_own(text).found
    return isinstance(found, Potential) or (isinstance(found, type) and issubclass(found, Potential))


def given_level_options(options: argparse.Namespace) -> dict[str, object]:
    """Those of the command line that decide a run of a potential; those of families alone are refused."""
    names = {entry.name for entry in fields(LevelOptions)}
    others = {entry.name for entry in fields(SolveOptions)} - names
    typed = {name: value for name, value in vars(options).items() if value is not None}
    for name in typed:
        if name in others:
            raise InputError(
                f"{option(name)} is of families of PDEs; the levels of a potential have none, leave it out"
            )
    return {name: value for name, value in typed.items() if name in names}


def refuse_level_options(options: argparse.Namespace) -> None:
    """Refuse options of potentials where a family is solved."""
    for name in LEVELS_ALONE:
        if getattr(options, name, None) is not None:
            raise InputError(f"{option(name)} is of potentials ({', '.join(POTENTIALS)}); leave it out")


def new_level_options(given: Mapping[str, object]) -> LevelOptions:
    chosen = dict(given)
    if "dim" not in chosen:
        raise InputError("no dim given; such as --dim 100")
    if "steps" not in chosen:
        chosen.setdefault("minutes", 1.0)
    return LevelOptions(**chosen)  # pyright: ignore[reportArgumentType]


def saved_level_options(saved: Mapping[str, object], source: str) -> LevelOptions:
    """The options in a file: every one and nothing else, each of its type."""
    if set(saved) != {entry.name for entry in fields(LevelOptions)}:
        raise InputError(f"{source} does not hold the options of this version of prism; start a new run")
    with blaming(source, InputError):
        return converted(saved, LevelOptions)
