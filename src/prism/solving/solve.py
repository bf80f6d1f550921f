"""`prism.solve`: from a family to a Solution in one call."""

import sys

from prism.derivatives.estimators import Estimator
from prism.errors import InputError
from prism.networks.model import Architecture
from prism.numerics.keys import Purpose, stream
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.objective.worst_case import WorstCase
from prism.problem.checks import check_family
from prism.problem.family import Family
from prism.solution.solution import Solution
from prism.solving.lift_choice import has_room_for_trials, with_decided_lift
from prism.solving.runs import execute
from prism.solving.settings import Settings
from prism.solving.symmetry import with_norms
from prism.training.loop import Budget
from prism.training.optimisers import Optimiser


def solve(
    family: Family,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    estimator: Estimator | None = None,
    optimiser: Optimiser | None = None,
    architecture: Architecture | None = None,
    sampling: Sampling | None = None,
    independent: bool = False,
    slopes: Slopes | None = None,
    worst_case: WorstCase | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Solution:
    """Solve a whole family: `prism.solve(AllenCahn(prism.Ball(1000)), minutes=2)`.

    Train for `steps` or for `minutes` (with the compilation; 1 unless given), on the equation alone. What is not given
    of `estimator`, `optimiser`, `architecture` and `sampling` is chosen for the family (docs/choosing.md). The lift of
    an equation in time that depends on |x| and t alone is made of these; other lifts are chosen by short trials, if
    `minutes` is 2 or more. `independent` makes the loss the product of two independent estimates, `slopes` adds the
    residual's gradient to it; `worst_case` lets points climb to where the residual is worst. With `progress` a bar and,
    at the end, the errors (or the residual, without an exact solution) go to standard error.
    """
    if not isinstance(family, Family):
        raise InputError(f"{family!r} is not a family; build one, such as MyFamily(prism.Ball(100))")
    if steps is None and minutes is None:
        minutes = 1.0
    settings = Settings.choose(
        family,
        estimator=estimator,
        optimiser=optimiser,
        architecture=architecture,
        sampling=sampling,
        independent=independent,
        slopes=slopes,
        seed=seed,
        worst_case=worst_case,
    )
    tell = (lambda line: print(line, file=sys.stderr)) if progress else (lambda line: None)
    budget = Budget(steps, minutes)
    check_family(family, stream(seed, Purpose.CHECK))
    normed = with_norms(family, settings, tell, estimator is not None) if architecture is None else None
    settings = normed or settings
    decides = architecture is None and normed is None and has_room_for_trials(family, settings, budget)
    if decides:
        decision = with_decided_lift(family, settings, budget, tell, check=False)
        settings, budget = decision.settings, decision.budget
    outcome = execute(family, settings, budget, show=progress, check=False)
    for line in outcome.describe():
        tell(line)
    return outcome.solution
