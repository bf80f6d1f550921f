"""What of a run can be made smaller: each setting says how much of it was asked for, what a run with less of it is, and
how that is proposed."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from prism.errors import Proposal
from prism.networks.lifts.parts import Part, Parts, parts_of
from prism.networks.model import Architecture
from prism.networks.sizes import Extent
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.problem.family import Family
from prism.solving.settings import Settings


@dataclass(frozen=True)
class ProblemSize:
    """What a run's memory depends on, of the family."""

    extent: Extent
    order: int | None
    """The highest order of tensors that the estimator decomposes; None where it decomposes none."""
    targets: int
    """Of soft conditions, per batch."""

    @staticmethod
    def of(family: Family) -> "ProblemSize":
        orders = [term.isotropic_order for term in family.terms.values() if term.isotropic_order]
        targets = sum(condition.points for condition in family.conditions.values())
        return ProblemSize(Extent.of(family.domain, family.parameters), max(orders, default=None), targets)


@dataclass(frozen=True)
class Reducible:
    """A setting that can be made smaller: its name, what was asked for, and the problem and settings with less of it.

    `value` is the setting itself, as an option takes it, and `argument` how a program in Python gives it.
    """

    name: str
    asked: Callable[[ProblemSize, Settings], int]
    changed: Callable[[ProblemSize, Settings, int], tuple[ProblemSize, Settings]]
    value: Callable[[ProblemSize, Settings], object]
    argument: Callable[[ProblemSize, Settings], str]

    def proposal(self, problem: ProblemSize, settings: Settings) -> Proposal:
        """This setting as it is in settings that fit."""
        return Proposal(self.name, self.value(problem, settings), self.argument(problem, settings))


def _network_size(
    name: str, of: Callable[[Architecture], int], changed: Callable[[Architecture, int], Architecture]
) -> Reducible:
    asked = lambda _, settings: of(settings.architecture)
    return Reducible(
        name,
        asked,
        lambda problem, settings, count: (
            problem,
            replace(settings, architecture=changed(settings.architecture, count)),
        ),
        asked,
        lambda _, settings: f"an architecture of {name}={of(settings.architecture)}",
    )


def lift_sizes(problem: ProblemSize, settings: Settings) -> tuple[Reducible, ...]:
    """The sizes of the lift's largest part, the largest size first."""
    parts = parts_of(settings.architecture.lift).parts
    extent = problem.extent
    weight = lambda part: (part.weight_count(extent.dimension, extent.times), part.channel_count)
    place = max(range(len(parts)), key=lambda place: weight(parts[place]))
    sizes = parts[place].sizes
    return tuple(_lift_size(place, name) for name in sorted(sizes, key=lambda name: -sizes[name]))


def _lift_size(place: int, name: str) -> Reducible:
    """One size of the part of the lift at that place."""
    parts = lambda settings: parts_of(settings.architecture.lift).parts

    def changed(problem: ProblemSize, settings: Settings, count: int) -> tuple[ProblemSize, Settings]:
        before = parts(settings)
        lift = Parts((*before[:place], before[place].with_size(name, count), *before[place + 1 :]))
        return problem, replace(settings, architecture=replace(settings.architecture, lift=lift))

    return Reducible(
        "lift",
        lambda _, settings: parts(settings)[place].sizes[name],
        changed,
        lambda _, settings: parts_of(settings.architecture.lift),
        lambda _, settings: f"an architecture of lift={' + '.join(_part_text(part) for part in parts(settings))}",
    )


def _part_text(part: Part) -> str:
    return _call_text(part, tuple(part.sizes))


def _call_text(made: object, always: tuple[str, ...] = ()) -> str:
    """An object as a program makes it: the arguments that are always given, and what else differs from the defaults.
    Long tuples, of coordinates, are left out."""
    known = fields(made)  # pyright: ignore[reportArgumentType]
    given = {one.name: getattr(made, one.name) for one in known}
    given = {one.name: given[one.name] for one in known if one.name in always or given[one.name] != one.default}
    text = lambda value: "..." if isinstance(value, tuple) and len(value) > 2 else repr(value)
    words = [text(value) if name == known[0].name else f"{name}={text(value)}" for name, value in given.items()]
    return f"prism.{type(made).__name__}({', '.join(words)})"


def _slope_directions(_: ProblemSize, settings: Settings) -> int:
    return 1 if settings.slopes is None else settings.slopes.directions or 1


def _sampling_argument(_: ProblemSize, settings: Settings) -> str:
    return settings.sampling.argument


POINTS = Reducible(
    "points",
    lambda _, settings: settings.sampling.points,
    lambda problem, settings, count: (problem, settings.with_points(count)),
    lambda _, settings: settings.sampling.points,
    _sampling_argument,
)
PARAMS = Reducible(
    "params",
    lambda _, settings: settings.sampling.params,
    lambda problem, settings, count: (
        problem,
        replace(settings, sampling=Sampling(settings.sampling.points, count, crossed=True)),
    ),
    lambda _, settings: settings.sampling.params,
    _sampling_argument,
)
DIM = Reducible(
    "dim",
    lambda problem, _: problem.extent.dimension,
    lambda problem, settings, count: (replace(problem, extent=replace(problem.extent, dimension=count)), settings),
    lambda problem, _: problem.extent.dimension,
    lambda problem, _: f"a dimension of {problem.extent.dimension}",
)
WIDTH = _network_size("width", lambda network: network.width, lambda network, count: replace(network, width=count))
DEPTH = _network_size("depth", lambda network: network.depth, lambda network, count: replace(network, depth=count))
GENERATOR_WIDTH = _network_size(
    "generator_width",
    lambda network: network.generator_width,
    lambda network, count: replace(network, generator_width=count),
)
ESTIMATOR = Reducible(
    "estimator",
    lambda _, settings: settings.estimator.given_count or 1,
    lambda problem, settings, count: (problem, replace(settings, estimator=settings.estimator.with_count(count))),
    lambda _, settings: settings.estimator,
    lambda _, settings: f"estimator={_call_text(settings.estimator)}",
)
SLOPES = Reducible(
    "slopes",
    _slope_directions,
    lambda problem, settings, count: (problem, replace(settings, slopes=Slopes(count))),
    _slope_directions,
    lambda problem, settings: f"slopes=prism.Slopes({_slope_directions(problem, settings)})",
)
