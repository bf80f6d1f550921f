"""The energy of a sum of products, or of a train, in a potential whose coordinates may interact in pairs.

⟨Ψ, Ψ⟩ and ⟨Ψ, HΨ⟩ are carried over the coordinates from left to right: bonds p × p of

    norm    ⟨left j, left k⟩
    open    ⟨left j, f(y_i) left k⟩, for every pair that waits for its second function
    energy  ⟨left j, H_left left k⟩

divided by the trace of the norm at every coordinate, whose logarithms add up. At the end α solves E α = λ N α, and
λ is stationary in it: its gradient is that of αᵀEα / αᵀNα with α held fixed, as long as no direction of N is cut off.
Overlaps, which may vanish, are never divisors.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.eigen.forms import Bond, Form
from prism.eigen.integrals import AtNodes, accumulate, along, at_nodes, map_blocks
from prism.eigen.network import TensorNetwork
from prism.eigen.quadrature import Rule
from prism.problem.potential import Index, Potential
from prism.shapes import Parameter, Scalar


class Operators(eqx.Module):
    """⟨φ_s, X φ_t⟩ of one coordinate, for all X that H is made of."""

    overlap: Float[Array, "s s"]
    energy: Float[Array, "s s"]
    left: tuple[Float[Array, "s s"], ...]
    """Of the first functions of the pairs."""
    right: tuple[Float[Array, "s s"], ...]
    """Of the second ones."""


class Carried(eqx.Module):
    """What is known of the coordinates so far."""

    norm: Bond
    energy: Bond
    open: tuple[Float[Array, "_ p p"], ...]
    """For each pair, what has waited since 1, 2, ... coordinates."""
    log_norm: Scalar

    @staticmethod
    def start(form: Form, potential: Potential) -> "Carried":
        zero = jnp.zeros_like(form.start)
        waiting = tuple(jnp.zeros((pair.offset, *zero.shape)) for pair in potential.pairs)
        return Carried(form.start, zero, waiting, jnp.zeros(()))

    def over(self, form: Form, one: Operators) -> "Carried":
        """With one coordinate more."""
        energy = form.carried(self.energy, one.overlap) + form.carried(self.norm, one.energy)
        waiting = []
        for open, left, right in zip(self.open, one.left, one.right, strict=True):
            energy = energy + form.carried(open[-1], right)
            passed = [form.carried(bond, one.overlap) for bond in open[:-1]]
            waiting.append(jnp.stack([form.carried(self.norm, left), *passed]))
        norm = form.carried(self.norm, one.overlap)
        size = jnp.trace(norm)
        scale = lambda bond: bond / size
        return Carried(scale(norm), scale(energy), tuple(map(scale, waiting)), self.log_norm + jnp.log(size))


def scaled_functions(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, i: Index, rule: Rule
) -> tuple[AtNodes, Float[Array, "s"]]:
    """The functions of coordinate i, scaled as the form asks, and their scales; α is of the scaled ones."""
    raw = at_nodes(tensor.factor(i), tensor.known(mu, i), potential, i, rule)
    scales = tensor.form.scales(raw.overlaps())
    return raw.scaled(scales), scales


def operators(tensor: TensorNetwork, potential: Potential, mu: Parameter, i: Index, rule: Rule) -> Operators:
    """Of the scaled functions of coordinate i."""
    functions = scaled_functions(tensor, potential, mu, i, rule)[0]
    named = potential.parameters.named(mu)
    of = lambda function: along(function, functions.positions, i, named)
    return Operators(
        functions.overlaps(),
        functions.energies(of(potential.single)),
        tuple(functions.overlaps(of(pair.left)) for pair in potential.pairs),
        tuple(functions.overlaps(of(pair.right)) for pair in potential.pairs),
    )


class Pencil(eqx.Module):
    """E and N of all coordinates, and the logarithm of what both were divided by."""

    energy: Bond
    norm: Bond
    log_norm: Scalar

    @property
    def lowest(self) -> tuple[Scalar, Float[Array, "p"]]:
        """λ and α, with αᵀNα = 1; directions in which N is nothing but rounding are left out."""
        alpha = jax.lax.stop_gradient(_lowest_vector(self.energy, self.norm))
        return alpha @ self.energy @ alpha / (alpha @ self.norm @ alpha), alpha


def _lowest_vector(energy: Bond, norm: Bond) -> Float[Array, "p"]:
    """α of smallest quotient. With N scaled to a diagonal of ones, directions in which it is below √eps are left out:
    what rounding of E and N makes of their quotient would be taken for a low energy."""
    least = jnp.finfo(norm.dtype).eps * jnp.trace(norm)
    sizes = jnp.sqrt(jnp.maximum(jnp.diagonal(norm), least))
    values, vectors = jnp.linalg.eigh(norm / sizes[:, None] / sizes[None, :])
    kept = values > jnp.sqrt(jnp.finfo(norm.dtype).eps) * values[-1]
    whitening = jnp.where(kept, vectors / jnp.sqrt(jnp.where(kept, values, 1.0)), 0.0) / sizes[:, None]
    reduced = whitening.T @ energy @ whitening
    beyond = jnp.sum(jnp.abs(reduced)) + 1.0  # directions that are left out come last
    reduced = reduced + jnp.diag(jnp.where(kept, 0.0, beyond))
    return whitening @ jnp.linalg.eigh(reduced)[1][:, 0]


def pencil(tensor: TensorNetwork, potential: Potential, mu: Parameter, rule: Rule, block: int) -> Pencil:
    """Over all coordinates, in blocks of so many."""
    form = tensor.form
    end = accumulate(
        lambda i: operators(tensor, potential, mu, i, rule),
        lambda carried, one: carried.over(form, one),
        Carried.start(form, potential),
        potential.dimension,
        block,
    )
    symmetric = lambda bond: (bond + bond.T) / 2.0
    return Pencil(symmetric(end.energy), symmetric(end.norm), end.log_norm)


class Bonds(eqx.Module):
    """Overlaps of all coordinates on one side of each, ⟨left j, left k⟩ and α ⟨right j, right k⟩ α; of trace 1."""

    before: Float[Array, "*d p p"]
    behind: Float[Array, "*d p p"]


def bonds(tensor: TensorNetwork, potential: Potential, mu: Parameter, rule: Rule, block: int) -> Bonds:
    """Of every coordinate, for functions scaled as in `operators`."""
    form, d = tensor.form, potential.dimension
    alpha = pencil(tensor, potential, mu, rule, block).lowest[1]
    overlaps = map_blocks(lambda i: scaled_functions(tensor, potential, mu, i, rule)[0].overlaps(), d, block)
    scaled = lambda bond: bond / jnp.trace(bond)
    ahead = lambda bond, one: (scaled(form.carried(bond, one)), bond)
    back = lambda bond, one: (scaled(form.carried_back(bond, one)), bond)
    before = jax.lax.scan(ahead, scaled(form.start), overlaps)[1]
    behind = jax.lax.scan(back, scaled(alpha[:, None] * alpha[None, :]), overlaps, reverse=True)[1]
    return Bonds(before, behind)


def densities(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, i: Index, rule: Rule, block: int
) -> tuple[Float[Array, "q"], Float[Array, "q"]]:
    """The nodes of coordinate i, and ∫Ψ² over all others there."""
    around = jax.tree.map(lambda leaf: leaf[i], bonds(tensor, potential, mu, rule, block))
    functions = scaled_functions(tensor, potential, mu, i, rule)[0]
    matrices = jax.vmap(tensor.form.matrix)(functions.values)
    found = jnp.einsum("qak,ab,qbl,kl->q", matrices, around.before, matrices, around.behind)
    return functions.positions, found / jnp.sum(functions.weights * found)
