"""Sums over places of a small network of a few coordinates:  z_c = Σ_i A_ic · (φ(y_i; μ) − φ(0; μ)).

y_i are the coordinates of place i, in units of their spread, and time where there is one. A direction of few
coordinates meets few places, and only those are looked at. Without φ(0; μ) taken off, every change of A would move the
constant part of the network by a sum over all places.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Directions, Sparse
from prism.derivatives.taylor import collapse, linear_jet, point_jet
from prism.networks.lifts.groups import Along, Coefficients, Group, Recipe, common_interval
from prism.networks.lifts.local_network import LocalDerivatives, LocalFunction, LocalNetwork
from prism.networks.lifts.parts import Sites
from prism.networks.modulation import Modulation
from prism.numerics.keys import Purpose, children
from prism.problem.domains import Domain
from prism.shapes import Hidden, Key, Point

Inputs = Float[Array, "places inputs"]


class SiteSums(Group):
    """Channels that are sums over places."""

    part: Sites = eqx.field(static=True)
    network: LocalNetwork
    coefficients: Float[Array, "places features channels"] | Float[Array, "features channels"]
    dimension: int = eqx.field(static=True)
    centre: float = eqx.field(static=True)
    unit: float = eqx.field(static=True)
    horizon: float | None = eqx.field(static=True)

    @staticmethod
    def create(part: Sites, domain: Domain, key: Key) -> "SiteSums":
        """Coefficients so small that z begins well below one, whatever the number of places."""
        part.check_places(domain.dimension)
        network_key, coefficient_key = children(key, Purpose.MANIFOLD, Purpose.WEIGHTS)
        places = len(part.groups) if part.groups else domain.dimension - (0 if part.periodic else part.window - 1)
        inputs = part.window + (domain.time_horizon is not None)
        shape = (part.features, part.channels) if part.shared else (places, part.features, part.channels)
        size = 1.0 / places if part.shared else 0.1 / places**0.5
        low, high = common_interval(part, domain)
        return SiteSums(
            part,
            LocalNetwork.create(inputs, part, network_key),
            size * jax.random.normal(coefficient_key, shape),
            domain.dimension,
            (low + high) / 2,
            domain.spread,
            domain.time_horizon,
        )

    @property
    def channels(self) -> int:
        return self.part.channels

    @property
    def modulated(self) -> tuple[int, ...]:
        return self.part.hidden, self.part.features

    @property
    def workspace(self) -> int:
        """Three arrays of φ's hidden values at every place (`LocalFunction.derivatives`), and as many adjoints."""
        return 6 * self.part.hidden * len(self.places)

    @property
    def places(self) -> Int[np.ndarray, "places window"]:
        """The coordinates of every place."""
        if self.part.groups is not None:
            return np.asarray(self.part.groups)
        count = self.dimension - (0 if self.part.periodic else self.part.window - 1)
        return (np.arange(count)[:, None] + np.arange(self.part.window)) % self.dimension

    @property
    def recipe(self) -> Recipe:
        network = self.network
        arrays = {
            "places": jnp.asarray(self.places),
            "first": network.first,
            "first_bias": network.first_bias,
            "second": network.second,
            "second_bias": network.second_bias,
            "coefficients": self.coefficients,
        }
        return Recipe("sites", {"centre": self.centre, "unit": self.unit, "horizon": self.horizon}, arrays)

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        return self._sum(self._function(modulations)(point_jet(self._inputs(x))).value.T)

    def lifted(
        self, x: Point, modulations: Sequence[Modulation], frames: Sequence[Along]
    ) -> tuple[Hidden, list[Coefficients]]:
        """Directions that span the space ask for z, its gradient and its Laplacian: all from one look at each place."""
        if all(self._local_directions(along) is None for along in frames):
            return super().lifted(x, modulations, frames)
        function, found = self._function(modulations), self._derivatives(x, modulations)
        return self._sum(found.value), [self._along(x, function, along, found) for along in frames]

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        """Along each direction for itself."""
        return self._along(x, self._function(modulations), along, None)

    def jacobian(self, x: Point, modulations: Sequence[Modulation]) -> Float[Array, "coordinates channels"]:
        return self._gradient(x, self._derivatives(x, modulations))

    def _along(self, x: Point, function: LocalFunction, along: Along, found: LocalDerivatives | None) -> Coefficients:
        directions, weights = along.decomposition.directions, along.decomposition.weights
        if isinstance(directions, Sparse) and self.horizon is None:
            return self._along_few(x, function, along, directions)
        local = self._local_directions(along)
        if local is not None and found is not None:
            first = directions.through(self._gradient(x, found))
            own = None if directions.stretched else found.half_laplacian
            return Coefficients((first,), self._sum(own) if own is not None else self._half_trace(x, function, local))
        tangents = self._tangents(directions, x.shape[0])
        jet = function(linear_jet(self._inputs(x), tangents, along.order, along.has_top, weights))
        jet = jet.map_linear(lambda features: self._sum(features.T))
        return Coefficients(jet.lower, jet.top)

    def _local_directions(self, along: Along) -> Float[Array, "m places_or_1 window"] | None:
        """The directions within each place, where ½ Tr(SSᵀD²z) is asked of ones that span the space."""
        if along.order != 2 or not along.has_top:
            return None
        return along.decomposition.directions.local(jnp.asarray(self.places))

    def _function(self, modulations: Sequence[Modulation]) -> LocalFunction:
        return self.network.at(modulations)

    def _derivatives(self, x: Point, modulations: Sequence[Modulation]) -> LocalDerivatives:
        """φ and its derivatives along the coordinates of each place."""
        return self._function(modulations).derivatives(self._inputs(x).T, self._units(x))

    def _units(self, x: Point) -> Float[Array, "window inputs"]:
        """What a step along each coordinate of a place does to y."""
        return jnp.eye(self.network.first.shape[0], dtype=x.dtype)[: self.part.window] / self.unit

    def _half_trace(self, x: Point, function: LocalFunction, local: Array) -> Hidden:
        """½ Tr(SSᵀD²z), from directions within each place."""
        inputs = self._inputs(x)
        padded = jnp.pad(local / self.unit, ((0, 0), (0, 0), (0, inputs.shape[1] - local.shape[2])))
        top = function(linear_jet(inputs, padded, 2, True, jnp.ones(padded.shape[0], x.dtype))).top
        assert top is not None
        return self._sum(top.T)

    def _gradient(self, x: Point, found: LocalDerivatives) -> Float[Array, "coordinates channels"]:
        """∂z/∂x: what the places hold for each of their coordinates, added up by coordinate."""
        pattern = "kfp,fc->kpc" if self.part.shared else "kfp,pfc->kpc"
        parts, total = jnp.einsum(pattern, found.first, self.coefficients), jnp.zeros((x.shape[0], self.channels))
        if self.part.groups is not None:
            return total.at[self.places].add(jnp.moveaxis(parts, 0, 1))
        for k, part in enumerate(parts):
            if self.part.periodic:
                total = total.at[: self.dimension].add(jnp.roll(part, k, axis=0))
            else:
                total = total + jnp.pad(part, ((k, x.shape[0] - len(part) - k), (0, 0)))
        return total

    def _along_few(self, x: Point, function: LocalFunction, along: Along, directions: Sparse) -> Coefficients:
        """Along directions of few coordinates, from the places that these meet."""
        meeting, places = jnp.asarray(self._meeting), jnp.asarray(self.places)

        def one(indices: Int[Array, "s"], values: Float[Array, "s"]) -> tuple[Hidden, ...]:
            met = meeting[indices].reshape(-1)
            earlier = jnp.tril(met[:, None] == met[None], -1).any(axis=1)
            counts = ((met >= 0) & ~earlier).astype(x.dtype)
            members = places[met]
            here = (members[:, :, None] == indices[None, None]).astype(x.dtype)
            tangent = jnp.einsum("s,pws->pw", values, here) / self.unit
            inputs = (x[members] - self.centre) / self.unit
            jet = function(linear_jet(inputs, tangent[None], along.order, False, jnp.ones(1)))
            own = self.coefficients if self.part.shared else self.coefficients[met]
            pattern = "p,pf,fc->c" if self.part.shared else "p,pf,pfc->c"
            return tuple(jnp.einsum(pattern, counts, coefficient[0], own) for coefficient in jet.lower)

        found = jax.vmap(one)(directions.indices, directions.values)
        if not along.has_top:
            return Coefficients(found, None)
        return Coefficients(found[:-1], collapse(along.decomposition.weights, found[-1]))

    @property
    def _meeting(self) -> Int[np.ndarray, "coordinates most"]:
        """The places of every coordinate, filled up with −1."""
        places = self.places
        order = np.argsort(places.reshape(-1), kind="stable")
        coordinates = places.reshape(-1)[order]
        starts = np.searchsorted(coordinates, np.arange(self.dimension))
        number = np.arange(len(order)) - starts[coordinates]
        table = np.full((self.dimension, int(number.max()) + 1), -1)
        table[coordinates, number] = order // places.shape[1]
        return table

    def _inputs(self, x: Point) -> Inputs:
        """y of every place, and time from −1 to 1."""
        return self._with_time((self._windows(x) - self.centre) / self.unit, x, 1.0)

    def _tangents(self, directions: Directions, coordinates: int) -> Float[Array, "n places inputs"]:
        """What a step along each direction does to y."""
        one = lambda v: self._with_time(self._windows(v) / self.unit, v, 0.0)
        return jax.vmap(one)(directions.dense(coordinates))

    def _with_time(
        self, inputs: Float[Array, "places window"], vector: Point, middle: float
    ) -> Float[Array, "places inputs"]:
        """One more input where there is time."""
        if self.horizon is None:
            return inputs
        time = jnp.broadcast_to(2.0 * vector[-1] / self.horizon - middle, (inputs.shape[0], 1))
        return jnp.concatenate([inputs, time], axis=1)

    def _windows(self, vector: Point) -> Inputs:
        """The coordinates of every place; slices where these are neighbours, which are faster than a gather."""
        if self.part.groups is not None:
            return vector[self.places]
        space, window = vector[: self.dimension], self.part.window
        if self.part.periodic:
            return jnp.stack([jnp.roll(space, -k) for k in range(window)], axis=1)
        return jnp.stack([space[k : self.dimension - window + 1 + k] for k in range(window)], axis=1)

    def _sum(self, features: Float[Array, "features places"]) -> Hidden:
        """Σ_i A_i · φ_i."""
        if self.part.shared:
            return jnp.sum(features, axis=1) @ self.coefficients
        return jnp.einsum("fp,pfc->c", features, self.coefficients)
