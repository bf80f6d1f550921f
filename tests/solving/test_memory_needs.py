"""What a run needs at the least is never more than what is compiled."""

from dataclasses import replace

import equinox as eqx
import jax
import pytest
from helpers import KEY, LIFTS, mostly_slow
from training.states import SMALL

import prism
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Gram, Rademacher
from prism.errors import InputError
from prism.families import AllenCahn, ReactionDiffusion
from prism.networks.lifts.parts import Dense
from prism.networks.model import Model
from prism.networks.sizes import Extent, refuse_larger_than, weights_of
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.solving.memory_needs import needs, total_bytes
from prism.solving.preparation import state_shapes
from prism.solving.reducible import ProblemSize
from prism.solving.settings import Settings
from prism.training.program import Program

DIMENSION = 7
FAMILY = AllenCahn.create(DIMENSION, KEY)
PLAIN = Settings.choose(FAMILY, architecture=SMALL, sampling=Sampling(20, 20))


def numbers_in(model: Model) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


@pytest.mark.parametrize("lift", mostly_slow(LIFTS, "sum", "form", "blocks", "quadratic"))
def test_weights_are_counted_from_below(lift):
    """All but biases, readout and factors, which are few."""
    architecture = replace(SMALL, lift=lift)
    model = Model.create(architecture, FAMILY.domain, FAMILY.parameters, KEY)
    counted = sum(vars(weights_of(architecture, Extent(DIMENSION, 0, 2))).values())
    assert 0.5 * numbers_in(model) < counted <= numbers_in(model)


def compiled_bytes(family, settings: Settings) -> float:
    return Program.trace(state_shapes(family, settings), settings.optimiser).gibibytes * 2**30


SETTINGS = {
    **{name: replace(PLAIN, architecture=replace(SMALL, lift=lift)) for name, lift in LIFTS.items()},
    **{
        str(one): replace(PLAIN, estimator=one)
        for one in (Exact(), Coordinates(3), Rademacher(9), Gaussian(4), Gram(2))
    },
    "adam": replace(PLAIN, optimiser=prism.Adam()),
    "in the kernel": replace(PLAIN, optimiser=prism.Spring(lift_in_kernel=True, lift_by_slopes=False)),
    "crossed": replace(PLAIN, sampling=Sampling(5, 8, crossed=True)),
    "slopes": replace(PLAIN, slopes=Slopes(3)),
    "independent": replace(PLAIN, independent=True, estimator=Rademacher(4)),
    "many points": replace(PLAIN, sampling=Sampling(900, 900)),
    "wide": replace(PLAIN, architecture=replace(SMALL, width=200, depth=3)),
    "wide generator": replace(PLAIN, architecture=replace(SMALL, generator_width=200, generator_depth=2)),
}


@pytest.mark.parametrize("settings", mostly_slow(SETTINGS, "dense"))
def test_no_more_is_counted_than_is_compiled(settings):
    assert total_bytes(needs(ProblemSize.of(FAMILY), settings)) <= compiled_bytes(FAMILY, settings)


@pytest.mark.slow
def test_no_more_is_counted_than_is_compiled_in_time():
    family = ReactionDiffusion.create(DIMENSION, KEY)
    settings = Settings.choose(family)
    assert total_bytes(needs(ProblemSize.of(family), settings)) <= compiled_bytes(family, settings)


def test_a_stored_architecture_has_no_more_weights_than_numbers():
    extent = Extent(DIMENSION, 0, 2)
    refuse_larger_than(SMALL, extent, 10**4)
    for large in (replace(SMALL, width=10**9, depth=3), replace(SMALL, lift=Dense(10**12))):
        with pytest.raises(InputError, match="does not fit the 10,000 numbers that are stored"):
            refuse_larger_than(large, extent, 10**4)
    with pytest.raises(InputError, match="layers take too long"):
        refuse_larger_than(replace(SMALL, depth=10**9), extent, 10**4)
