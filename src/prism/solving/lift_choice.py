"""Which lift: what the equation tells, and what a short, equal trial of each candidate shows.

    suggested_lift(find_structure(family))     from the equation alone
    choose_lift(family, settings, lifts, ...)    the candidates, tried; the smallest held-out residual is taken

No exact solution is needed. Nothing is assumed in silence: the table of the trials is what the choice was made from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from prism.networks.lifts.parts import Affine, Norm, Parts, Places, Sites, parts_of
from prism.numerics.keys import Purpose, child, stream
from prism.problem.family import Family
from prism.problem.structure import Kind, Structure
from prism.solution.held_out import held_out_residual
from prism.solving.runs import execute
from prism.solving.settings import Settings, architecture_for
from prism.training.loop import Budget

MANY_FEATURES_UP_TO, MANY_HIDDEN_UP_TO = 300, 2_000
"""Dimensions up to which sites have 16 features, and 32 hidden values. Each feature of a place is an unknown, of which
a batch says little where there are many; each hidden value is computed at every place."""
FEW_FEATURES = 4
IN_KERNEL_UP_TO = 2_000
"""Dimensions up to which all coefficients of places can be learned from residuals alone. Beyond, only those of curved
sites, which follow slopes."""
AFFINE_BEYOND = 20_000
"""Dimensions beyond which an affine lift alone is worth a trial: curvature fades against slopes as 1/√d."""


def suggested_lift(structure: Structure) -> Parts | None:
    """What carries a solution of this structure; None where there is none to speak of."""
    own = lambda window: usual_sites(window, structure.dimension)
    match structure.kind:
        case Kind.NORM:
            return parts_of(Norm())
        case Kind.EXCHANGEABLE:
            return Sites(1, features=8, channels=4, shared=True) + Norm()
        case Kind.SUM:
            return with_affine(own(1))
        case Kind.CHAIN if structure.invariant:
            return parts_of(Sites(structure.window, features=8, channels=4, shared=True, periodic=True))
        case Kind.CHAIN:
            return with_affine(replace(own(structure.window), periodic=structure.periodic))
        case Kind.PAIRS if structure.probed == structure.dimension:
            return with_affine(own(2).with_groups(groups_of(structure)))
    return None


def usual_sites(window: int, dimension: int) -> Sites:
    """Sites whose places have coefficients of their own: curved ones where these are too many for residuals alone."""
    features = 16 if dimension <= MANY_FEATURES_UP_TO else FEW_FEATURES
    hidden = 32 if dimension <= MANY_HIDDEN_UP_TO else 16
    return Sites(window, features, curved=dimension > IN_KERNEL_UP_TO, hidden=hidden)


def with_affine(sites: Sites) -> Parts:
    """The sites, with an affine part beside them where they are curved and have no slope of their own."""
    return Affine() + sites if sites.curved else parts_of(sites)


def _curved(lift: Parts | None) -> Parts | None:
    """The same with curved sites, of no more features than slopes decide; None where that is nothing new."""
    own = [] if lift is None else [sites for sites in lift.of_kind(Sites) if not (sites.curved or sites.shared)]
    return with_affine(replace(own[0], features=FEW_FEATURES, curved=True)) if len(own) == 1 else None


def groups_of(structure: Structure) -> Places:
    """The pairs that interact, and every coordinate that is in none of them with its neighbour: what is weak was not
    seen, and is not to be lost."""
    seen = {coordinate for pair in structure.pairs for coordinate in pair}
    last = structure.dimension - 1
    alone = [(i, i + 1) if i < last else (i - 1, i) for i in range(structure.dimension) if i not in seen]
    return tuple(sorted({*structure.pairs, *alone}))


@dataclass(frozen=True)
class Trial:
    """One candidate after its trial."""

    name: str
    lift: Parts
    steps: int
    scaled_residual: float


@dataclass(frozen=True)
class LiftChoice:
    """The trials, best first."""

    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        return self.trials[0]

    def describe(self) -> list[str]:
        """The table that the choice was made from."""
        width = max(len(trial.name) for trial in self.trials)
        rows = [f"  {trial.name:{width}}  {trial.scaled_residual:10.3e}  {trial.steps:6,}" for trial in self.trials]
        return [f"  {'lift':{width}}  {'residual':>10}  {'steps':>6}", *rows, f"taken: {self.best.name}"]


def candidates(structure: Structure, settings: Settings) -> dict[str, Parts]:
    """What the equation suggests, with plain and with curved sites, the usual lift, and sites of neighbours, each once;
    in many dimensions an affine part alone."""
    dimension, suggested, kind = structure.dimension, suggested_lift(structure), structure.kind.value
    named = {
        f"the equation's ({kind})": suggested,
        f"the equation's ({kind}), curved": _curved(suggested),
        "usual": parts_of(settings.architecture.lift),
        "neighbours": with_affine(usual_sites(min(2, dimension), dimension)),
        "affine": parts_of(Affine()) if dimension > AFFINE_BEYOND else None,
    }
    different: dict[str, Parts] = {}
    for name, parts in named.items():
        if parts is None or parts in different.values():
            continue
        if settings.optimiser.trains_followers or not parts.follows_slopes:
            different[name] = parts
    return different


def choose_lift(
    family: Family,
    settings: Settings,
    lifts: Mapping[str, Parts],
    seconds: float,
    tell: Callable[[str], None] = lambda line: None,
) -> LiftChoice:
    """Try each lift for so many seconds of steps, and compare the residuals on pairs that none was trained on."""
    key, trials = child(stream(settings.seed, Purpose.EVALUATION), Purpose.QUERIES), []
    for name, lift in lifts.items():
        tell(f"trying the lift {name} for {seconds:.0f} s")
        chosen = replace(settings, architecture=architecture_for(lift, settings.architecture))
        outcome = execute(family, chosen, Budget(seconds_of_steps=seconds), show=False, check=False, judge=False)
        if outcome.interrupted_by is not None:
            raise KeyboardInterrupt
        residual = held_out_residual(outcome.solution.model, outcome.solution.family, key)
        trials.append(Trial(name, lift, outcome.steps, residual.scaled_residual))
    return LiftChoice(tuple(sorted(trials, key=lambda trial: trial.scaled_residual)))
