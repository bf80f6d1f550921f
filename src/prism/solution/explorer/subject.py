"""The solution that a page shows."""

from dataclasses import dataclass

from prism.networks.model import Model
from prism.problem.family import Family
from prism.solution.limits import Limits


@dataclass(frozen=True)
class Subject:
    """A network, its family, and where it was trained."""

    model: Model
    family: Family
    limits: Limits
