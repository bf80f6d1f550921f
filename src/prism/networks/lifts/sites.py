"""Sums over places of a small network of a few coordinates:  z_c = Σ_i A_ic · (φ(y_i; μ) − φ(0; μ)).

y_i are the coordinates of place i, in units of their spread, and time where there is one. A direction of few
coordinates meets few places, and only those are looked at. Without φ(0; μ) every change of A would move the constant
part of the network by a sum over all places.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Directions, Sparse
from prism.derivatives.taylor import Jet, Sin, Tanh, collapse, linear_jet, point_jet
from prism.errors import InputError
from prism.networks.lifts.groups import Along, Coefficients, Group
from prism.networks.lifts.parts import Sites
from prism.networks.modulation import Modulation, glorot
from prism.numerics.keys import Purpose, children
from prism.problem.domains import Domain
from prism.shapes import Hidden, Key, Point

FEW_DIRECTIONS = 8
"""Up to so many directions that meet every place are followed one by one; of more, the gradient of z is taken once."""
Inputs = Float[Array, "places inputs"]


class LocalNetwork(eqx.Module):
    """φ: tanh, then sines, each layer scaled and shifted by μ."""

    first: Float[Array, "inputs hidden"]
    first_bias: Float[Array, "hidden"]
    second: Float[Array, "hidden features"]
    second_bias: Float[Array, "features"]

    @staticmethod
    def create(inputs: int, part: Sites, key: Key) -> "LocalNetwork":
        """First weights from smooth to steep, and biases that put every sine at its own phase."""
        purposes = (Purpose.WEIGHTS, Purpose.LIFT_BIAS, Purpose.READOUT, Purpose.SHIFT_HEAD)
        first_key, bias_key, second_key, phase_key = children(key, *purposes)
        steepness = jnp.geomspace(*part.steepness, part.hidden)
        return LocalNetwork(
            steepness[None] * jax.random.normal(first_key, (inputs, part.hidden)),
            jax.random.normal(bias_key, (part.hidden,)),
            1.5 * glorot(second_key, part.hidden, part.features),
            jax.random.normal(phase_key, (part.features,)),
        )

    def __call__(self, jet: Jet, modulations: Sequence[Modulation]) -> Jet:
        """The jet of φ from that of y."""
        first, second = (modulation.for_rows() for modulation in modulations)
        jet = jet.map_linear(lambda y: y @ self.first).shift(self.first_bias[None])
        jet = Tanh().push(first.push(jet))
        jet = jet.map_linear(lambda h: h @ self.second).shift(self.second_bias[None])
        return Sin().push(second.push(jet))


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
        _check_places(part, domain.dimension)
        network_key, coefficient_key = children(key, Purpose.MANIFOLD, Purpose.WEIGHTS)
        places = len(part.groups) if part.groups else domain.dimension - (0 if part.periodic else part.window - 1)
        inputs = part.window + (domain.time_horizon is not None)
        shape = (part.features, part.channels) if part.shared else (places, part.features, part.channels)
        size = 1.0 / places if part.shared else 0.1 / places**0.5
        low, high = domain.bounds
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
    def bent(self) -> bool:
        return self.part.is_bent

    @property
    def channels(self) -> int:
        return self.part.channels

    @property
    def modulated(self) -> tuple[int, ...]:
        return self.part.hidden, self.part.features

    @property
    def places(self) -> Int[np.ndarray, "places window"]:
        """The coordinates of every place."""
        if self.part.groups is not None:
            return np.asarray(self.part.groups)
        count = self.dimension - (0 if self.part.periodic else self.part.window - 1)
        return (np.arange(count)[:, None] + np.arange(self.part.window)) % self.dimension

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        features = self.network(point_jet(self._inputs(x)), modulations).value
        return self._sum(features - self._origin(modulations))

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        directions = along.decomposition.directions
        if isinstance(directions, Sparse) and self.horizon is None:
            return self._along_few(x, modulations, along, directions)
        weights = along.decomposition.weights
        local = directions.local(jnp.asarray(self.places)) if along.order == 2 and along.has_top else None
        if local is not None and weights.shape[0] > FEW_DIRECTIONS:
            first = directions.through(self.jacobian(x, modulations))
            return Coefficients((first,), self._half_trace(x, modulations, local))
        tangents = self._tangents(directions, x.shape[0])
        order, has_top = (along.order, along.has_top) if local is None else (1, False)
        jet = self.network(linear_jet(self._inputs(x), tangents, order, has_top, weights), modulations)
        jet = jet.map_linear(self._sum)
        return Coefficients(jet.lower, jet.top if local is None else self._half_trace(x, modulations, local))

    def slope_rows(
        self, x: Point, modulations: Sequence[Modulation], by_value: Hidden, by_top: Hidden
    ) -> Float[Array, "window places features channels"]:
        """∂/∂x_k of (p φ + t ½Δφ) at every place, by each of the coordinates k of the place."""
        inputs = self._inputs(x)
        units = jnp.eye(inputs.shape[1], dtype=x.dtype)[: self.part.window] / self.unit

        def features(y: Inputs) -> tuple[Array, Array]:
            jet = linear_jet(y, units[:, None], 2, True, jnp.ones(self.part.window, x.dtype))
            found = self.network(jet, modulations)
            assert found.top is not None
            return found.value, found.top

        along = lambda unit: jax.jvp(features, (inputs,), (jnp.broadcast_to(unit, inputs.shape),))[1]
        values, tops = jax.vmap(along)(units)
        return jnp.einsum("kpf,c->kpfc", values, by_value) + jnp.einsum("kpf,c->kpfc", tops, by_top)

    def _half_trace(self, x: Point, modulations: Sequence[Modulation], local: Array) -> Hidden:
        """½ Tr(SSᵀD²z), from directions within each place."""
        inputs = self._inputs(x)
        within = jnp.pad(local / self.unit, ((0, 0), (0, 0), (0, inputs.shape[1] - local.shape[2])))
        top = self.network(linear_jet(inputs, within, 2, True, jnp.ones(within.shape[0], x.dtype)), modulations).top
        assert top is not None
        return self._sum(top)

    def _along_few(self, x: Point, modulations: Sequence[Modulation], along: Along, directions: Sparse) -> Coefficients:
        """Along directions of few coordinates, from the places that these meet."""
        meeting, places = jnp.asarray(self._meeting), jnp.asarray(self.places)

        def one(indices: Int[Array, "s"], values: Float[Array, "s"]) -> tuple[Hidden, ...]:
            met = meeting[indices].reshape(-1)
            earlier = jnp.tril(met[:, None] == met[None], -1).any(axis=1)
            counts = ((met >= 0) & ~earlier).astype(x.dtype)
            within = places[met]
            here = (within[:, :, None] == indices[None, None]).astype(x.dtype)
            tangent = jnp.einsum("s,pws->pw", values, here) / self.unit
            inputs = (x[within] - self.centre) / self.unit
            jet = self.network(linear_jet(inputs, tangent[None], along.order, False, jnp.ones(1)), modulations)
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
        inputs = (self._windows(x) - self.centre) / self.unit
        if self.horizon is None:
            return inputs
        time = jnp.broadcast_to(2.0 * x[-1] / self.horizon - 1.0, (inputs.shape[0], 1))
        return jnp.concatenate([inputs, time], axis=1)

    def _tangents(self, directions: Directions, coordinates: int) -> Float[Array, "n places inputs"]:
        """What a step along each direction does to y."""

        def one(v: Point) -> Inputs:
            windows = self._windows(v) / self.unit
            if self.horizon is None:
                return windows
            time = jnp.broadcast_to(2.0 * v[-1] / self.horizon, (windows.shape[0], 1))
            return jnp.concatenate([windows, time], axis=1)

        return jax.vmap(one)(directions.dense(coordinates))

    def _windows(self, vector: Point) -> Inputs:
        """The coordinates of every place; slices where these are neighbours, which are faster than a gather."""
        if self.part.groups is not None:
            return vector[self.places]
        space, window = vector[: self.dimension], self.part.window
        if self.part.periodic:
            return jnp.stack([jnp.roll(space, -k) for k in range(window)], axis=1)
        return jnp.stack([space[k : self.dimension - window + 1 + k] for k in range(window)], axis=1)

    def _origin(self, modulations: Sequence[Modulation]) -> Float[Array, "1 features"]:
        """φ(0; μ)."""
        return self.network(point_jet(jnp.zeros((1, self.network.first.shape[0]))), modulations).value

    def _sum(self, features: Float[Array, "places features"]) -> Hidden:
        """Σ_i A_i · φ_i."""
        if self.part.shared:
            return jnp.sum(features, axis=0) @ self.coefficients
        return jnp.einsum("pf,pfc->c", features, self.coefficients)


def _check_places(part: Sites, dimension: int) -> None:
    if part.groups is None:
        if part.window > dimension:
            raise InputError(f"a window of {part.window} coordinates does not fit into {dimension} dimensions")
        return
    numbers = [number for place in part.groups for number in place]
    wrong = [number for number in numbers if not isinstance(number, int) or not 0 <= number < dimension]
    if wrong:
        raise InputError(f"groups of sites name coordinate {wrong[0]!r}; there are {dimension}, from 0")
    twice = [place for place in part.groups if len(set(place)) < len(place)]
    if twice:
        raise InputError(f"the group {twice[0]} of sites names a coordinate twice; leave one out")
