"""How levels are solved for, and what is chosen where nothing is said."""

from dataclasses import dataclass

import jax.numpy as jnp

from prism.eigen.chain_objective import ChainEnergy
from prism.eigen.forms import Form, Product, Sum, Train
from prism.eigen.natural import EnergyGradient
from prism.eigen.network import FactorArchitecture
from prism.eigen.objective import EnergyObjective, EnergySampling
from prism.eigen.separable_objective import SeparableEnergy
from prism.errors import InputError, Proposal, TooLarge
from prism.numerics.arguments import check_kind, check_whole
from prism.numerics.memory import available_bytes
from prism.problem.potential import Potential
from prism.training.memory import SHARE
from prism.training.optimisers import Adam, Optimiser

USUAL_BOND = 3
MOST_EXCITED = 3
"""Functions above the lowest of each coordinate, unless more are given: how often one may be excited."""
MOST_LEVELS = 100
MANY = 1000
"""Coordinates of a chain beyond which a step takes one μ alone."""
ADAM_RATE = 1e-2
"""Of Adam, in any form."""
GIBIBYTE = 2**30
COPIES = 4
"""Arrays as large as the weights that training keeps at least: these, their gradient, and two moments."""


@dataclass(frozen=True)
class EigenSettings:
    """Everything that decides a run but its budget."""

    form: Form
    architecture: FactorArchitecture
    optimiser: Optimiser
    sampling: EnergySampling
    levels: int = 1
    seed: int = 0
    checkpoint_seconds: float = 60.0

    @staticmethod
    def choose(
        potential: Potential,
        form: Form | None = None,
        architecture: FactorArchitecture | None = None,
        optimiser: Optimiser | None = None,
        sampling: EnergySampling | None = None,
        levels: int = 1,
        seed: int = 0,
    ) -> "EigenSettings":
        """What is given, and the usual for the rest: a product where coordinates do not interact, else a train."""
        check_whole("levels", levels, 1, MOST_LEVELS)
        check_kind("seed", seed, int, "a whole number")
        check_kind("form", form, Form | None, "one, such as prism.Train(3)")
        check_kind("architecture", architecture, FactorArchitecture | None, "a prism.FactorArchitecture")
        check_kind("optimiser", optimiser, EnergyGradient | Adam | None, "prism.EnergyGradient() or prism.Adam()")
        check_kind("sampling", sampling, EnergySampling | None, "a prism.EnergySampling")
        form = usual_form(potential, levels) if form is None else form
        architecture = architecture or FactorArchitecture()
        optimiser = usual_optimiser(form, architecture) if optimiser is None else optimiser
        sampling = usual_sampling(potential, form, architecture, optimiser) if sampling is None else sampling
        settings = EigenSettings(form, architecture, optimiser, sampling, levels, seed)
        settings.check(potential)
        return settings

    def check(self, potential: Potential) -> None:
        """Refuse what does not go together, or cannot fit."""
        excited = self.form.excited if isinstance(self.form, Product) else 0
        if isinstance(self.form, Product) and not potential.is_separable:
            raise InputError(
                f"the coordinates of {type(potential).__name__} interact, which a product cannot carry; take a train "
                "or a sum of products (of one term for a single product)"
            )
        if self.levels > 1 and not excited:
            raise InputError(
                f"{self.levels} levels: those above the lowest are of a product in a separable potential; ask for one "
                "level, or give the potential in coordinates that do not interact"
            )
        if self.levels > (1 + excited) ** min(potential.dimension, 64):
            raise InputError(
                f"{self.levels} levels of {potential.dimension} coordinates with {1 + excited} functions each: give "
                f"{(1 + excited) ** potential.dimension} or fewer"
            )
        if self.optimiser.natural and not isinstance(self.form, Product):
            raise InputError(
                "the natural gradient is of products; a sum or a train is trained by Adam: --optimiser adam, or "
                f"optimiser=prism.Adam({ADAM_RATE:g})"
            )
        self._check_coordinates(potential.dimension)
        self._refuse_too_many_weights(potential)

    def _check_coordinates(self, d: int) -> None:
        """How many of them may be in a step."""
        count = self.sampling.coordinates
        if not isinstance(self.form, Product) and count != d:
            raise InputError(
                f"{count} coordinates in a step: a sum or a train takes all {d} of them; leave the number out"
            )
        if not self.architecture.shared and count > d:
            raise InputError(f"{count} coordinates in a step: there are {d}, and each network moves once in it")

    def _refuse_too_many_weights(self, potential: Potential) -> None:
        """Networks of their own are as many as coordinates."""
        one, room = self.architecture, SHARE * available_bytes()
        copies = COPIES * (1 if one.shared else potential.dimension) * jnp.result_type(float).itemsize
        needed = copies * _weights(one, one.width)
        if needed <= room:
            return
        fitting = [width for width in range(1, one.width) if copies * _weights(one, width) <= room]
        raise TooLarge(
            f"{potential.dimension:,} networks of {_weights(one, one.width):,} weights need "
            f"{needed / GIBIBYTE:.2g} GiB and {room / GIBIBYTE:.2g} GiB may be used",
            [Proposal("width", fitting[-1], "a smaller width")] if fitting else [],
        )

    def objective(self, potential: Potential) -> EnergyObjective:
        """What is minimised."""
        kind = SeparableEnergy if isinstance(self.form, Product) else ChainEnergy
        return kind(potential, self.sampling)


def _weights(architecture: FactorArchitecture, width: int) -> int:
    """About how many a network of this width has."""
    inside, depth = architecture.generator_width, architecture.depth
    return depth * width**2 + inside * (inside + 2 * width * depth)


def usual_form(potential: Potential, levels: int) -> Form:
    """A product where there is one."""
    if not potential.is_separable:
        return Train(USUAL_BOND) if potential.dimension > 1 else Sum(1)
    return Product(excited=min(levels - 1, MOST_EXCITED))


def usual_optimiser(form: Form, architecture: FactorArchitecture) -> Optimiser:
    """The natural gradient of a product of a shared network. Adam's cheap steps get further with networks of their own,
    which are many, and with sums and trains, of which the metric of single coordinates is no good model."""
    return EnergyGradient() if isinstance(form, Product) and architecture.shared else Adam(ADAM_RATE)


def usual_sampling(
    potential: Potential, form: Form, architecture: FactorArchitecture, optimiser: Optimiser
) -> EnergySampling:
    """Of a product of a shared network: 64 pairs of a coordinate and a μ. With one network for each coordinate: some of
    them with 16 μ each (natural gradient), or all with 4 (Adam). Of a sum or a train: all coordinates, with two μ where
    they are not too many."""
    d = potential.dimension
    if not isinstance(form, Product):
        return EnergySampling(d, 2 if d < MANY else 1, nodes=48, block=min(d, 64))
    if architecture.shared:
        return EnergySampling()
    return EnergySampling(min(d, 16), 16) if optimiser.natural else EnergySampling(d, 4, block=min(d, 64))
