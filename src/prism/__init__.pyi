"""The public names, in the order of the pipeline: the only list of them."""

__version__: str

from .problem.points import (
    Domain as Domain,
    Law as Law,
    Sampler as Sampler,
)
from .problem.boxes import (
    Box as Box,
    Faces as Faces,
)
from .problem.domains import (
    Ball as Ball,
    Cube as Cube,
    Sphere as Sphere,
    WholeSpace as WholeSpace,
)
from .problem.time_domains import (
    AtTime as AtTime,
    DiffusionPaths as DiffusionPaths,
    TimeCylinder as TimeCylinder,
)
from .problem.laws import (
    EvaluationLaw as EvaluationLaw,
    Mixture as Mixture,
    Near as Near,
    OwnLaw as OwnLaw,
    UniformInVolume as UniformInVolume,
)
from .problem.regions import Region as Region
from .problem.parameters import (
    LogUniform as LogUniform,
    ParameterSpace as ParameterSpace,
    Uniform as Uniform,
)
from .derivatives.operators import (
    Biharmonic as Biharmonic,
    Directional as Directional,
    GradientNormSquared as GradientNormSquared,
    Isotropic as Isotropic,
    Laplacian as Laplacian,
    Operator as Operator,
    Partial as Partial,
    TimeDerivative as TimeDerivative,
    WeightedTrace as WeightedTrace,
)
from .problem.constraints import (
    Constraint as Constraint,
    Free as Free,
    HardConstraint as HardConstraint,
    clamped as clamped,
    radial as radial,
    vanishing as vanishing,
)
from .formulas.smoothing import smoothed as smoothed
from .problem.forms import QuadraticForm as QuadraticForm
from .references.reference import Reference as Reference
from .references.matrix_product import ground_level as ground_level
from .problem.known import KnownValues as KnownValues
from .problem.potential import (
    Pair as Pair,
    Potential as Potential,
)
from .problem.conditions import (
    Condition as Condition,
    Observed as Observed,
    Prescribed as Prescribed,
)
from .problem.family import (
    Derivatives as Derivatives,
    Family as Family,
)
from .derivatives.estimators import (
    Coordinates as Coordinates,
    Estimator as Estimator,
    Exact as Exact,
    Gaussian as Gaussian,
    Gram as Gram,
    Rademacher as Rademacher,
)
from .networks.modulation import (
    CONCAT as CONCAT,
    FILM as FILM,
    NONE as NONE,
    SCALE as SCALE,
    SHIFT as SHIFT,
)
from .problem.structure import (
    Structure as Structure,
    find_structure as find_structure,
)
from .networks.lifts.parts import (
    Affine as Affine,
    Blocks as Blocks,
    Dense as Dense,
    Norm as Norm,
    Quadratic as Quadratic,
    Sites as Sites,
    Time as Time,
)
from .networks.model import Architecture as Architecture
from .objective.batches import Sampling as Sampling
from .objective.rows import Slopes as Slopes
from .objective.worst_case import WorstCase as WorstCase
from .training.optimisers import (
    Adam as Adam,
    Optimiser as Optimiser,
)
from .training.natural.spring import Spring as Spring
from .solving.callbacks import (
    Callback as Callback,
    TensorBoard as TensorBoard,
    WeightsAndBiases as WeightsAndBiases,
)
from .solving.solve import solve as solve
from .eigen.forms import (
    Product as Product,
    Sum as Sum,
    Train as Train,
)
from .eigen.network import FactorArchitecture as FactorArchitecture
from .eigen.objective import EnergySampling as EnergySampling
from .eigen.natural import EnergyGradient as EnergyGradient
from .eigen.solving import eigensolve as eigensolve
from .eigen.eigensolution import (
    Eigensolution as Eigensolution,
    load_eigensolution as load_eigensolution,
)
from .solution.training_record import TrainingRecord as TrainingRecord
from .solution.evaluation import Evaluation as Evaluation
from .solution.solution import (
    Solution as Solution,
    load as load,
)
from .solution.trust import Trust as Trust
from .solution.explorer.page import Page as Page
from .networks.tunable import (
    Diagonals as Diagonals,
    LastLayer as LastLayer,
    Modulators as Modulators,
    Tunable as Tunable,
)
from .inversion.observations import Observations as Observations
from .inversion.estimate import (
    Estimate as Estimate,
    ParameterEstimate as ParameterEstimate,
)
from .inversion.inference import invert as invert
from .errors import (
    BeyondTraining as BeyondTraining,
    CorruptedFile as CorruptedFile,
    FailedRun as FailedRun,
    InputError as InputError,
    NotImproved as NotImproved,
    NotSolved as NotSolved,
    PrismError as PrismError,
    PrismWarning as PrismWarning,
)
