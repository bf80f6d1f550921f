"""The options of `prism solve`: what each may be, its default, and the objects they mean."""

from dataclasses import asdict, dataclass, field, replace

from prism.cli.lifts import AUTO, lift_text, parse_lift
from prism.cli.names import (
    FAMILIES,
    LIFT_STEPS,
    LOSSES,
    OPTIMISERS,
    PAIRINGS,
    estimator_text,
    lookup,
    parse_estimator,
    parse_slopes,
    parse_space,
)
from prism.cli.own_families import is_own, load_own
from prism.derivatives.estimators import Coordinates, Estimator
from prism.derivatives.taylor import ACTIVATIONS
from prism.errors import InputError
from prism.families.solitons import SolitonFamily
from prism.families.two_body import InteractionFamily
from prism.networks.lifts.parts import Parts, parts_of
from prism.networks.model import Architecture
from prism.networks.modulation import MODULATIONS
from prism.numerics.keys import Purpose, stream
from prism.numerics.ranges import MOST_COUNTED, fits_single_precision
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.objective.worst_case import WorstCase
from prism.problem.checks.family import check_family
from prism.problem.family import Family
from prism.problem.fingerprint import fingerprint
from prism.solving.refusals import refuse_impossible, refuse_long_points
from prism.solving.settings import Settings, architecture_for, default_optimiser
from prism.training.loop import Budget
from prism.training.natural.spring import Spring
from prism.training.optimisers import Adam, Optimiser

CROSSED_PARAMS = 10
SIZES = ("width", "depth", "generator_width")


@dataclass(frozen=True)
class SolveOptions:
    """Everything that decides a run, by name."""

    family: str
    """A name of the catalogue, or FILE.py:NAME."""
    dim: int
    family_sha256: str | None = None
    """Of the file that defines a family of the user's own."""
    equation: str | None = None
    """The fingerprint of what is solved."""
    scaled: bool = False
    pairs: str | None = None
    wave: list[float] | None = None
    bounds: list[str] = field(default_factory=list)
    space: str | None = None
    estimator: str | None = None
    loss: str = "shared"
    slopes: str = "off"
    worst_case: int | None = None
    optimiser: str = "spring"
    rate: float | None = None
    damping: float | None = None
    momentum: float | None = None
    lift_step: str | None = None
    modulation: str = "film"
    activation: str | None = None
    width: int | None = None
    lift: str | None = None
    depth: int | None = None
    generator_width: int | None = None
    points: int | None = None
    params: int | None = None
    pairing: str | None = None
    """None: crossed where --params is given, else paired."""
    steps: int | None = None
    minutes: float | None = None
    seed: int = 0
    checkpoint_seconds: float = 60.0

    def __post_init__(self):
        for name in ("width", "depth", "generator_width", "rate", "damping", "checkpoint_seconds"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and fits_single_precision(value)):
                raise InputError(f"{option(name)} {value} is too small or too large; give a positive number")
        for name in ("points", "params", "steps", "worst_case"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{option(name)} {value} does nothing; give 1 or more")
        for name in ("dim", "steps"):
            if (getattr(self, name) or 0) > MOST_COUNTED:
                raise InputError(f"{option(name)} {getattr(self, name)} is too large; give {MOST_COUNTED} or less")
        if self.minutes is not None and not (self.minutes > 0 and fits_single_precision(60.0 * self.minutes)):
            raise InputError(f"--minutes {self.minutes:g} is out of range; give a positive number")
        if self.momentum is not None and not 0 <= self.momentum < 1:
            raise InputError(f"--momentum {self.momentum} is out of range; give 0 up to, but without, 1")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} is out of range; give 0 to {2**32 - 1}")

    def build_family(self) -> Family:
        refuse_long_points(self.dim)
        if is_own(self.family):
            return self._own_family()
        kind = lookup("family", FAMILIES, self.family)
        space, key = parse_space(kind.box, self.space, self.bounds), stream(self.seed, Purpose.PROBLEM)
        if issubclass(kind, InteractionFamily):
            self._refuse_variants("wave")
            return kind.create(self.dim, key, self.scaled, space, self.pairs or "chain")
        if issubclass(kind, SolitonFamily):
            self._refuse_variants("scaled", "pairs")
            return kind.create(self.dim, key, space, self.wave)
        self._refuse_variants("scaled", "pairs", "wave")
        return kind.create(self.dim, key, space)

    @property
    def is_changed(self) -> bool:
        """Whether the family or its parameters are the user's, which are checked before anything else is done."""
        return is_own(self.family) or self.space is not None or bool(self.bounds)

    def build_checked_family(self) -> Family:
        """The family, tried at random points where it may hold mistakes of the user's; the catalogue's are tested."""
        family = self.build_family()
        if self.is_changed:
            check_family(family, stream(self.seed, Purpose.CHECK))
        return family

    def _own_family(self) -> Family:
        """The user's own, with other parameters where they were asked for."""
        self._refuse_variants("scaled", "pairs", "wave")
        own = load_own(self.family)
        if self.space is None and not self.bounds:
            return own.build(self.dim)
        return own.bounded(lambda space: parse_space(space, self.space, self.bounds), self.dim)

    def _refuse_variants(self, *names: str) -> None:
        for name in names:
            if getattr(self, name):
                kinds = "solitary waves (kdv2d, kp, gkdv)" if name == "wave" else "families in the ball"
                raise InputError(f"--{name} is a variant of the {kinds}; {self.family} has none, leave it out")

    def build_settings(self, family: Family) -> Settings:
        """The objects these options mean; those not given as `Settings` chooses them for the family."""
        slopes = parse_slopes(self.slopes)
        default = Settings.choose(family, optimiser=self._optimiser(family, slopes))
        sizes = {name: getattr(self, name) for name in SIZES if getattr(self, name) is not None}
        architecture = replace(
            self._architecture(default.architecture, family),
            modulation=lookup("modulation", MODULATIONS, self.modulation),
            **sizes,
        )
        if self.activation is not None:
            architecture = replace(architecture, activation=lookup("activation", ACTIVATIONS, self.activation)())
        settings = replace(
            default,
            estimator=self._estimator(family, default.estimator),
            architecture=architecture,
            sampling=self._sampling(default.sampling.points),
            independent=lookup("loss", LOSSES, self.loss),
            slopes=slopes,
            worst_case=None if self.worst_case is None else WorstCase(self.worst_case),
            seed=self.seed,
            checkpoint_seconds=self.checkpoint_seconds,
        )
        refuse_impossible(family, settings, lift_is_open=self.lift in (None, AUTO))
        return settings

    def _architecture(self, default: Architecture, family: Family) -> Architecture:
        """The default one behind the lift that was asked for; `auto` is decided later, from trials."""
        if self.lift in (None, AUTO):
            return default
        return architecture_for(parse_lift(self.lift, parts_of(default.lift), family, self.seed), default)

    def _estimator(self, family: Family, default: Estimator) -> Estimator:
        if self.estimator is None:
            return default
        estimator, dimension = parse_estimator(self.estimator), family.domain.dimension
        if isinstance(estimator, Coordinates) and estimator.count > dimension:
            raise InputError(
                f"--estimator {self.estimator} asks for more than the {dimension} coordinates there are; use exact"
            )
        return estimator

    def _sampling(self, default_pairs: int) -> Sampling:
        """As many pairs of a point and a parameter as by default, as far as --points and --params leave it open."""
        crossed = self.params is not None if self.pairing is None else lookup("pairing", PAIRINGS, self.pairing)
        if crossed:
            params = self.params or CROSSED_PARAMS
            return Sampling(self.points or max(1, default_pairs // params), params, crossed)
        points = self.points or self.params or default_pairs
        if self.params not in (None, points):
            raise InputError(
                f"--pairing paired takes one parameter per point; --points {points} and --params {self.params} differ, "
                "leave --params out, or take --pairing crossed for all pairs"
            )
        return Sampling(points, points, crossed)

    def _optimiser(self, family: Family, slopes: Slopes | None) -> Optimiser:
        kind = lookup("optimiser", OPTIMISERS, self.optimiser)
        given = {
            name: getattr(self, name) for name in ("rate", "damping", "momentum") if getattr(self, name) is not None
        }
        if kind is Adam and (set(given) - {"rate"} or self.lift_step is not None):
            raise InputError(
                "--damping, --momentum and --lift-step belong to --optimiser spring; adam has --rate alone"
            )
        if self.lift_step is not None:
            given |= lookup("step of the lift", LIFT_STEPS, self.lift_step)
        optimiser = replace(default_optimiser(family) if kind is Spring else kind(), **given)
        try:
            optimiser.check(slopes)
        except InputError as error:
            raise InputError(
                f"--slopes {self.slopes} does not go with --optimiser {self.optimiser}; spring takes a number of "
                "random directions (--slopes 1), adam any"
            ) from error
        return optimiser

    def resolved(self, settings: Settings, family: Family) -> "SolveOptions":
        """With nothing left open: what config.json keeps, so that a later version's defaults do not matter."""
        optimiser, sizes = settings.optimiser, {name: getattr(settings.architecture, name) for name in SIZES}
        natural = isinstance(optimiser, Spring)
        moves = lambda step: all(getattr(optimiser, name) == value for name, value in step.items())
        return replace(
            self,
            family_sha256=self.family_sha256 or (load_own(self.family).sha256 if is_own(self.family) else None),
            equation=fingerprint(family),
            estimator=estimator_text(settings.estimator),
            rate=optimiser.rate,
            damping=optimiser.damping if natural else None,
            momentum=optimiser.momentum if natural else None,
            lift_step=next(name for name, step in LIFT_STEPS.items() if moves(step)) if natural else None,
            activation=next(
                name for name, kind in ACTIVATIONS.items() if type(settings.architecture.activation) is kind
            ),
            points=settings.sampling.points,
            params=settings.sampling.params,
            pairing=next(name for name, crossed in PAIRINGS.items() if crossed == settings.sampling.crossed),
            lift=AUTO if self.lift == AUTO else lift_text(parts_of(settings.architecture.lift)),
            **sizes,
        )

    def build_budget(self) -> Budget:
        return Budget(self.steps, self.minutes if self.steps is None else None)

    def config(self) -> dict[str, object]:
        return asdict(self)


def option(name: str) -> str:
    """The option as it is typed."""
    return f"--{name.replace('_', '-')}"


def typed(name: str, value: object) -> str:
    """A setting as it is typed."""
    if isinstance(value, Parts):
        return f"{option(name)} {lift_text(value)}"
    return f"{option(name)} {estimator_text(value) if isinstance(value, Estimator) else value}"
