"""Names that people type, and the objects they mean."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import TypeVar

from prism.cli.numbers import real_number, repeated, whole_number
from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gaussian, Gram, Rademacher
from prism.errors import InputError
from prism.families import (
    KP,
    AllenCahn,
    AllenCahnTime,
    ClampedBiharmonic,
    Convection,
    ConvectionDiffusion,
    GKdV,
    Heat,
    HJBLog,
    HJBRosenbrock,
    KdV2D,
    Poisson,
    Reaction,
    ReactionDiffusion,
    SineGordon,
    SineGordonBeta,
    SineGordonTime,
    SineGordonTimeBeta,
)
from prism.families.evolution import EvolutionFamily
from prism.families.hamilton_jacobi_bellman import ControlFamily
from prism.families.semilinear import SemilinearFamily
from prism.families.solitons import SolitonFamily
from prism.families.two_body import InteractionFamily
from prism.networks.tunable import Diagonals, LastLayer, Modulators, Tunable
from prism.objective.rows import Slopes
from prism.problem.parameters import LogUniform, ParameterSpace, Uniform
from prism.training.natural.spring import Spring
from prism.training.optimisers import Adam

FamilyKind = (
    type[InteractionFamily] | type[EvolutionFamily] | type[SemilinearFamily] | type[ControlFamily] | type[SolitonFamily]
)
FAMILIES: dict[str, FamilyKind] = {
    "poisson": Poisson,
    "allen-cahn": AllenCahn,
    "sine-gordon": SineGordon,
    "sine-gordon-beta": SineGordonBeta,
    "biharmonic": ClampedBiharmonic,
    "convection": Convection,
    "reaction": Reaction,
    "convection-diffusion": ConvectionDiffusion,
    "reaction-diffusion": ReactionDiffusion,
    "heat": Heat,
    "allen-cahn-time": AllenCahnTime,
    "sine-gordon-time": SineGordonTime,
    "sine-gordon-time-beta": SineGordonTimeBeta,
    "hjb-log": HJBLog,
    "hjb-rosenbrock": HJBRosenbrock,
    "kdv2d": KdV2D,
    "kp": KP,
    "gkdv": GKdV,
}
COUNTED_ESTIMATORS = {"coordinates": Coordinates, "rademacher": Rademacher, "gaussian": Gaussian, "gram": Gram}
WHOLE_ESTIMATORS = {"exact": Exact, "gram": Gram}
ESTIMATORS = {
    "exact": "every coordinate direction; no variance, cost grows with the dimension",
    "coordinates:N": "N random coordinates (SDGD, sparse STDE)",
    "rademacher:N": "N random sign vectors (HTE, dense STDE); not for the biharmonic",
    "gaussian:N": "N normal vectors (HTE, dense STDE)",
    "gram": "the Gram matrix of the lift; no variance at any dimension (of order 4: behind linear channels)",
    "gram:N": "N directions drawn from it",
}
OPTIMISERS = {"spring": Spring, "adam": Adam}
LIFT_STEPS = {
    "slopes": {"lift_in_kernel": False, "lift_by_slopes": True},
    "kernel": {"lift_in_kernel": True, "lift_by_slopes": False},
    "both": {"lift_in_kernel": True, "lift_by_slopes": True},
}
"""How SPRING moves the lift: by the residual's gradient, inside the kernel, or by both."""
PAIRINGS = {"paired": False, "crossed": True}
LOSSES = {"shared": False, "independent": True}
TUNABLE: dict[str, tuple[Tunable, ...]] = {
    "diagonals": (Diagonals(),),
    "modulators": (Modulators(),),
    "last-layer": (LastLayer(),),
    "all": (Diagonals(), Modulators(), LastLayer()),
}
SPACES: dict[str, type[Uniform] | type[LogUniform]] = {"uniform": Uniform, "log-uniform": LogUniform}

Value = TypeVar("Value")


def lookup(kind: str, table: Mapping[str, Value], name: str) -> Value:
    """table[name], or an error that lists what there is."""
    if name not in table:
        raise InputError(f"unknown {kind} {repeated(name)!r}; choose {', '.join(table)}")
    return table[name]


def own_dimension(name: str) -> int | None:
    """The space dimensions of a built-in family that has them fixed; None where `--dim` says them."""
    kind = FAMILIES.get(name)
    return kind.space_dimension if kind is not None and issubclass(kind, SolitonFamily) else None


def parse_estimator(text: str) -> Estimator:
    """`exact`, `gram`, `coordinates:16`, `coordinates:16:shared`."""
    name, *rest = text.split(":")
    text = repeated(text)
    if name in WHOLE_ESTIMATORS and not rest:
        return WHOLE_ESTIMATORS[name]()
    malformed = (
        f"malformed estimator {text!r}; write exact, gram, or one of coordinates:16, rademacher:8, gaussian:8, gram:16"
    )
    if name not in COUNTED_ESTIMATORS or not rest or len(rest) > 2 or rest[1:] not in ([], ["shared"]):
        raise InputError(f"{malformed} (append :shared to use the same directions for the whole batch)")
    if not rest[0].isdecimal():
        raise InputError(malformed)
    count = _count(f"--estimator {text}", rest[0])
    if count < 1:
        raise InputError(f"--estimator {text} draws nothing; give a whole number of 1 or more directions")
    return COUNTED_ESTIMATORS[name](count, shared=len(rest) == 2)


def estimator_text(estimator: Estimator) -> str:
    """The name under which an estimator is typed."""
    count = estimator.given_count
    if count is None:
        return next(name for name, kind in WHOLE_ESTIMATORS.items() if type(estimator) is kind)
    name = next(name for name, kind in COUNTED_ESTIMATORS.items() if type(estimator) is kind)
    return f"{name}:{count}{':shared' if estimator.shared else ''}"


def parse_slopes(text: str) -> Slopes | None:
    """`off`, `whole`, or a number of random directions."""
    if text in ("off", "whole"):
        return Slopes() if text == "whole" else None
    if not text.isdecimal():
        raise InputError(f"malformed --slopes {repeated(text)!r}; write off, whole, or a number of random directions")
    count = _count("--slopes", text)
    if count < 1:
        raise InputError(f"--slopes {count}: slopes along {count} directions are none; give 1 or more, or whole")
    return Slopes(count)


def _count(option: str, digits: str) -> int:
    try:
        return whole_number(digits)
    except ArgumentTypeError as error:
        raise InputError(f"{option}: {error}") from None


def parse_space(own: ParameterSpace, law: str | None, bounds: list[str]) -> ParameterSpace:
    """A family's own space, with another law or other bounds, each parameter's given once at most."""
    sides, seen = own.bounds(), set()
    for text in bounds:
        name, low, high = _parse_bounds(text)
        if name not in sides:
            raise InputError(
                f"--bounds {repeated(text)}: unknown parameter {repeated(name)!r}; choose {', '.join(sides)}"
            )
        if name in seen:
            raise InputError(f"--bounds gives {name} twice; give it once")
        seen.add(name)
        sides[name] = (low, high)
    space = type(own) if law is None else lookup("law of parameters", SPACES, law)
    return space(**sides)  # pyright: ignore[reportArgumentType]


def _parse_bounds(text: str) -> tuple[str, float, float]:
    name, equals, interval = text.partition("=")
    low, colon, high = interval.partition(":")
    malformed = f"malformed --bounds {repeated(text)!r}; write NAME=LOW:HIGH, such as mu1=0.5:1.5"
    if not equals or not colon:
        raise InputError(malformed)
    try:
        return name, real_number(low), real_number(high)
    except ArgumentTypeError as error:
        raise InputError(f"{malformed} ({error})") from None
