"""Networks with random weights, in place of trained ones."""

import equinox as eqx
from helpers import KEY, roughened

from prism.networks.model import Architecture, Model
from prism.problem.family import Family


def random_network(family: Family, architecture: Architecture) -> Model:
    """No weight of it is 0 or 1."""
    return roughened(eqx.filter_eval_shape(Model.create, architecture, family.domain, family.parameters, KEY))
