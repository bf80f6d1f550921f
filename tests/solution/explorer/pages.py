"""Solutions with random weights, and what a page of them holds."""

from helpers import linear
from solution.networks import random_network

from prism.derivatives.operators import Laplacian
from prism.networks.model import Architecture
from prism.networks.modulation import FILM
from prism.problem.domains import Domain
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.solution.explorer.content import network_content, sliders, subspace_content, usual_coordinates
from prism.solution.explorer.subject import Subject
from prism.solution.solution import Solution


class Anywhere(Family):
    """Δu = 0 on any domain and for any parameters, under no constraint."""

    domain: Domain
    parameters: ParameterSpace
    terms = {"lap": Laplacian()}

    def residual(self, u, x, mu):
        return u.lap


def solution_of(family: Family, lift=None, modulation=FILM, depth: int = 2, **changes) -> Solution:
    architecture = Architecture(linear(6) if lift is None else lift, 5, depth, 4, 2, modulation, **changes)
    return Solution(random_network(family, architecture), family)


def content_of(solution: Solution, names=None) -> dict:
    """All but the trust."""
    subject = Subject(solution.model, solution.family, solution.limits)
    names = usual_coordinates(solution.family) if names is None else names
    space = subspace_content(subject, names)
    parameters = sliders(solution.family.parameters, space["constraint"])
    return {**network_content(subject), "parameters": parameters, "slices": space, "trust": {}}
