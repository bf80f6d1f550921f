"""Potentials, random networks, and their oracle: the wave function on all points of a tensor product of nodes.

The oracle knows the formula of the networks, but no transfer from one coordinate to the next.
"""

from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from prism.eigen.eigensolution import Eigensolution
from prism.eigen.forms import Form, Product, Sum, Train
from prism.eigen.levels import levels
from prism.eigen.metric import flat, unflattened
from prism.eigen.network import BELL, FactorArchitecture, FactorNetwork, TensorNetwork
from prism.eigen.objective import EnergySampling
from prism.eigen.quadrature import Rule, gauss
from prism.eigen.solving import eigensolve
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator
from prism.networks.modulation import FILM, ModulationSettings
from prism.numerics.keys import root
from prism.problem.parameters import Uniform
from prism.problem.potential import Pair, Potential
from prism.solution.training_record import TrainingRecord

MU = jnp.asarray([0.93, 0.41])
"""In the box of every potential here, and not in its middle."""
CORNER = jnp.asarray([0.8, 0.72])
D = 3


class Braided(Potential):
    """Wells that are not even and differ from place to place; neighbours and next but one interact, by functions that
    are not even either."""

    dimension: int = eqx.field(static=True)
    parameters = Uniform(a=(0.5, 1.0), b=(0.2, 0.6))

    def single(self, y, i, mu):
        return (1.0 + 0.1 * i) * y * y + 0.1 * y**4 + 0.3 * mu.a * jnp.sin(y)

    @property
    def pairs(self):
        return (
            Pair(lambda y, i, mu: (mu.a + 0.1 * i) * jnp.tanh(y), lambda y, i, mu: y - 0.05 * i * y * y),
            Pair(lambda y, i, mu: mu.b * jnp.cos(y + 0.2 * i), lambda y, i, mu: y, offset=2),
        )

    def half_width(self, i):
        return 3.0 + 0.2 * i


class Wells(Potential):
    """Anharmonic wells that do not interact, and of which nothing is known."""

    dimension: int = eqx.field(static=True)
    parameters = Uniform(a=(0.5, 1.0))

    def single(self, y, i, mu):
        return y * y + 0.1 * mu.a * y**4

    def half_width(self, i):
        return 4.0


MODES, PLAIN, BRAIDED = CoupledOscillator.create(D), PlainCoupledOscillator.create(D), Braided(D)
FORMS = {"product": Product(), "sum": Sum(2), "train": Train(2)}
CASES: dict[str, tuple[Potential, Form]] = {
    "modes, product": (MODES, Product()),
    "modes, sum": (MODES, Sum(2)),
    "modes, train": (MODES, Train(2)),
    "plain, sum": (PLAIN, Sum(2)),
    "plain, train": (PLAIN, Train(2)),
    "braided, sum": (BRAIDED, Sum(2)),
    "braided, train": (BRAIDED, Train(2)),
}
"""Every form in every potential that it is for."""
SMALL = FactorArchitecture(width=3, depth=2, generator_width=3, generator_depth=1)


def random_network(
    potential: Potential,
    form: Form,
    seed: int = 0,
    shared: bool = True,
    modulation: ModulationSettings = FILM,
    size: float = 0.3,
) -> TensorNetwork:
    """A small one whose arrays all differ from those before training: these are zero where μ enters."""
    architecture = FactorArchitecture(3, 2, 3, 1, modulation, shared=shared)
    generator = np.random.default_rng(seed)
    moved = lambda leaf: leaf + size * generator.normal(size=leaf.shape) if eqx.is_inexact_array(leaf) else leaf
    return jax.tree.map(moved, TensorNetwork.create(architecture, form, potential, root(seed)))


def weights_of(tensor: TensorNetwork) -> np.ndarray:
    """All weights of all its networks."""
    return np.asarray(flat(tensor.factors))


def functions_formula(network: FactorNetwork, xi, known):
    """φ(ξ) of one coordinate written out: no modulation objects."""
    generator, widths = network.generator, [len(bias) for bias in network.biases]
    embedding = known
    for weight, bias in zip(generator.weights, generator.biases, strict=True):
        embedding = jnp.tanh(embedding @ weight + bias)
    gamma = jnp.ones(sum(widths)) if generator.scale_head is None else 1.0 + embedding @ generator.scale_head
    beta = jnp.zeros(sum(widths)) if generator.shift_head is None else embedding @ generator.shift_head
    z, start = xi * network.entry + network.biases[0], 0
    after = [*zip(network.weights, network.biases[1:], strict=True), (network.readout, 0.0)]
    for width, (weight, bias) in zip(widths, after, strict=True):
        z = jnp.tanh(gamma[start : start + width] * z + beta[start : start + width]) @ weight + bias
        start += width
    start = jnp.stack([(jnp.sqrt(2.0 * BELL) * xi) ** power for power in network.powers])
    return (1.0 - xi**2) * jnp.exp(z[0] + network.offset[0] - BELL * xi**2) * (z[1:] + network.offset[1:] * start)


def one_dimensional(tensor: TensorNetwork, potential: Potential, mu, i: int, rule: Rule):
    """φ, φ' and φ'' of a coordinate at its nodes y, and the weights of ∫dy."""
    index = jnp.asarray(i)
    network, known = tensor.factor(index), tensor.known(mu, index)
    length = jnp.asarray(potential.half_width(index), float)
    phi = lambda y: functions_formula(network, y / length, known)
    first, y = jax.jacfwd(phi), length * rule.nodes
    values = (jax.vmap(of)(y) for of in (phi, first, jax.jacfwd(first)))
    return *values, y, length * rule.weights


def potential_at(potential: Potential, mu, y):
    """v at one point, written out."""
    named, count = potential.parameters.named(mu), potential.dimension
    at = lambda function, i: jnp.asarray(function(y[i], jnp.asarray(i), named), float)
    total = sum(at(potential.single, i) for i in range(count))
    for pair in potential.pairs:
        total += sum(at(pair.left, i) * at(pair.right, i + pair.offset) for i in range(count - pair.offset))
    return jnp.asarray(total, float)


def joined(form: Form, factors):
    """The p parts of Ψ on all points, of the values of the functions of each of three coordinates."""
    if isinstance(form, Train):
        p = form.rank
        one, two, three = (values.reshape(-1, p, p) for values in factors)
        return jnp.einsum("xa,yab,zbc->xyzc", one[:, 0], two, three)
    return jnp.einsum("xp,yp,zp->xyzp", *(values[:, : form.rank] for values in factors))


class Dense(NamedTuple):
    """Three coordinates on all points of a tensor product: the parts of Ψ, of its derivatives and of −ΔΨ + vΨ."""

    parts: jax.Array
    slopes: list[jax.Array]
    applied: jax.Array
    potential: jax.Array
    points: jax.Array
    weights: jax.Array

    def pencil(self):
        """E and N."""
        pair = lambda a, b: jnp.einsum("xyzp,xyz,xyzq->pq", a, self.weights, b)
        kinetic = sum(pair(slope, slope) for slope in self.slopes)
        return kinetic + pair(self.parts, self.potential[..., None] * self.parts), pair(self.parts, self.parts)

    def level(self):
        """λ, the lowest of E α = λ N α."""
        energy, norm = self.pencil()
        inverse = jnp.linalg.inv(jnp.linalg.cholesky(norm))
        return jnp.linalg.eigvalsh(inverse @ energy @ inverse.T)[0]

    def alpha(self):
        """Its vector, with αᵀNα = 1."""
        energy, norm = self.pencil()
        inverse = jnp.linalg.inv(jnp.linalg.cholesky(norm))
        return inverse.T @ jnp.linalg.eigh(inverse @ energy @ inverse.T)[1][:, 0]

    def wave(self):
        """Ψ of norm 1 on all points."""
        return self.parts @ self.alpha()

    def mean(self, function):
        """⟨Ψ, f Ψ⟩ of a function on all points."""
        return jnp.sum(self.weights * function * self.wave() ** 2)

    def variance(self):
        """⟨(H − λ)Ψ, (H − λ)Ψ⟩."""
        local = (self.applied - self.level() * self.parts) @ self.alpha()
        return jnp.sum(self.weights * local**2)


def dense(tensor: TensorNetwork, potential: Potential, mu, rule: Rule) -> Dense:
    """The oracle, at the nodes that the package uses."""
    zeroth, first, second, y, weights = zip(
        *(one_dimensional(tensor, potential, mu, i, rule) for i in range(D)), strict=True
    )
    replaced = lambda of, i: joined(tensor.form, [of[k] if k == i else zeroth[k] for k in range(D)])
    points = jnp.stack(jnp.meshgrid(*y, indexing="ij"), axis=-1)
    v = jax.vmap(lambda point: potential_at(potential, mu, point))(points.reshape(-1, D)).reshape(points.shape[:-1])
    parts = joined(tensor.form, zeroth)
    applied = v[..., None] * parts - sum(replaced(second, i) for i in range(D))
    slopes = [replaced(first, i) for i in range(D)]
    return Dense(parts, slopes, applied, v, points, jnp.einsum("x,y,z->xyz", *weights))


def growth(kind: type[CoupledOscillator] | type[PlainCoupledOscillator], form: Form) -> tuple[int, int, int]:
    """Bytes that the gradient of the energy by all weights takes beside them, for 256 coordinates and for 2048, and how
    many blocks more these are."""
    found, block = [], 32
    for dimension in (256, 2048):
        potential = kind.create(dimension)
        tensor = random_network(potential, form)

        def energy(weights, tensor=tensor, potential=potential):
            put = eqx.tree_at(lambda t: t.factors, tensor, unflattened(tensor.factors, weights))
            return levels(put, potential, MU, 1, gauss(16), block)[0]

        analysis = jax.jit(jax.grad(energy)).lower(flat(tensor.factors)).compile().memory_analysis()
        assert analysis is not None
        found.append(analysis.temp_size_in_bytes)
    return *found, (2048 - 256) // block


class Trained(NamedTuple):
    """A solution, the directory of its run, and what a callback saw of it."""

    solution: Eigensolution
    out: Path
    seen: list[TrainingRecord]


def errors_of(solution: Eigensolution) -> Any:
    """What was measured of it: numbers, where its levels are known."""
    assert solution.training.evaluation is not None
    return solution.training.evaluation


FOUR = CoupledOscillator.create(4)
FOUR_MU = {"mu1": 0.93, "mu2": 0.41}


def train(out: Path) -> Trained:
    """A small network, trained until it is right to four digits or more."""
    seen: list[TrainingRecord] = []
    solution = eigensolve(
        FOUR,
        steps=60,
        levels=2,
        architecture=FactorArchitecture(width=6, depth=1, generator_width=6, generator_depth=2),
        sampling=EnergySampling(coordinates=8, params=4, nodes=32, block=4),
        out=out,
        callback=seen.append,
        progress=False,
    )
    return Trained(solution, out, seen)
