"""Steer fifty drifting vehicles home, at the least cost, for every price of a miss at once.

    python examples/control.py                      # under a minute; draws control.png

Fifty vehicles in the plane should stand in their places at t = 1. X holds their 100 offsets from there. Random gusts
move them, and a controller may push: dX = 2α dt + √2 dW. Pushing costs |α|² per unit of time; at the end a miss costs
p·100·log(1 + |X|²/100): near home that is p|X|², far away it hardly grows. p is the price of a miss.

Let u(x, t; p) be the least mean cost from x at time t. It solves the Hamilton-Jacobi-Bellman equation

    u_t + Δu − |∇u|² = 0,     u(x, 1) = p·100·log(1 + |x|²/100),

and the best push is −∇u. One network learns u for all prices from this equation alone. Then the vehicles are simulated:
what is paid on average should be what u promised, and less than without control.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import prism

DIMENSION, RUNS, STEPS = 100, 400, 100
PRICES = (0.25, 0.5, 1.0, 1.5, 2.0)
ALONE, STEERED = "#D55E00", "#0072B2"


def miss(x):
    """What a miss costs at price 1."""
    return DIMENSION * jnp.log(1.0 + jnp.sum(x * x, axis=-1) / DIMENSION)


class Gathering(prism.Family):
    """u_t + Δu − |∇u|² = 0, u(x, 1) = p·miss(x): the constraint holds at t = 1 for every network N."""

    domain: prism.TimeCylinder
    parameters = prism.Uniform(price=(0.25, 2.0))
    terms = {"t": prism.TimeDerivative(), "lap": prism.Laplacian(), "grad2": prism.GradientNormSquared()}

    def residual(self, u, x, mu):
        return u.t + u.lap - u.grad2

    def constraint(self):
        price_of_miss = lambda x, mu: mu.price * miss(x[:-1])
        return prism.HardConstraint(factor=lambda x, mu: 1.0 - x[-1], offset=price_of_miss)


class Simulation(NamedTuple):
    """Offsets of every run at every time, the effort of each run, and what its miss would cost at price 1."""

    path: np.ndarray
    effort: np.ndarray
    miss: np.ndarray

    def costs(self, price):
        return self.effort + price * self.miss

    def distance(self):
        """The root mean square offset at every time, averaged over the runs."""
        return np.sqrt(np.mean(self.path**2, axis=-1)).mean(axis=1)


def simulate(start, push):
    """Runs from `start` under a controller `push(x, t)`, with the same gusts for every controller."""
    gusts = np.random.default_rng(1).standard_normal((STEPS, RUNS, DIMENSION))
    dt, x, effort = 1.0 / STEPS, np.repeat(start[None], RUNS, axis=0), np.zeros(RUNS)
    path = [x]
    for number, gust in enumerate(gusts):
        pushed = push(x, number * dt)
        effort = effort + dt * np.sum(pushed**2, axis=1)
        x = x + 2.0 * dt * pushed + np.sqrt(2.0 * dt) * gust
        path.append(x)
    return Simulation(np.stack(path), effort, np.asarray(miss(x)))


def best_push(solution, price):
    """−∇u at this price, for a batch of states at one time."""

    def push(x, t):
        points = np.hstack([x, np.full((len(x), 1), t)])
        return -np.asarray(solution.gradient(jnp.asarray(points), price=price))[:, :-1]

    return push


def draw_vehicles(axes, alone, steered):
    """The paths of six vehicles in the first run, and where all fifty end."""
    for simulation, colour, name in ((alone, ALONE, "left alone"), (steered, STEERED, "steered, price 1")):
        vehicles = simulation.path[:, 0].reshape(STEPS + 1, -1, 2)
        axes.plot(vehicles[:, :6, 0], vehicles[:, :6, 1], color=colour, lw=0.8, alpha=0.6)
        axes.plot(vehicles[-1, :, 0], vehicles[-1, :, 1], "o", color=colour, ms=4, label=f"{name}: where they end")
    axes.plot(0.0, 0.0, "k+", ms=14, mew=2, label="home")
    axes.set(title="fifty vehicles, the paths of six", xlabel="offset, east", ylabel="offset, north", aspect="equal")


def draw_distances(axes, alone, steered):
    times = np.linspace(0.0, 1.0, STEPS + 1)
    axes.plot(times, alone.distance(), color=ALONE, label="left alone")
    for price, strength in ((0.25, 0.35), (1.0, 0.65), (2.0, 1.0)):
        label = f"steered, price {price:g}"
        axes.plot(times, steered[price].distance(), color=STEERED, alpha=strength, label=label)
    axes.set(title="distance from home", xlabel="t", ylabel="root mean square offset", ylim=(0, None))


def draw_costs(axes, solution, start, alone, steered):
    prices = np.linspace(PRICES[0], PRICES[-1], 50)
    promised = solution(jnp.tile(jnp.append(start, 0.0), (50, 1)), price=jnp.asarray(prices))
    paid = [steered[price].costs(price) for price in PRICES]
    axes.plot(prices, promised, color=STEERED, label="promised by the network")
    errors = [2.0 * cost.std() / RUNS**0.5 for cost in paid]
    axes.errorbar(PRICES, [cost.mean() for cost in paid], errors, fmt="ko", ms=4, label="paid when steered")
    unsteered = [alone.costs(price).mean() for price in PRICES]
    axes.plot(PRICES, unsteered, "s--", color=ALONE, ms=4, label="paid when left alone")
    axes.set(title="mean cost", xlabel="price of a miss", ylim=(0, None))


def main(minutes: float = 0.5, picture: str = "control.png") -> None:
    family = Gathering(prism.TimeCylinder(prism.WholeSpace(DIMENSION), 1.0))
    solution = prism.solve(family, minutes=minutes)

    start = np.random.default_rng(0).standard_normal(DIMENSION)
    alone = simulate(start, lambda x, t: np.zeros_like(x))
    steered = {price: simulate(start, best_push(solution, price)) for price in PRICES}
    print("price   promised   paid when steered   left alone")
    for price in PRICES:
        promised, paid = float(solution(jnp.append(start, 0.0), price=price)), steered[price].costs(price)
        error, unsteered = paid.std() / RUNS**0.5, alone.costs(price).mean()
        print(f"{price:5.2f}   {promised:8.2f}   {paid.mean():10.2f} ± {error:.2f}   {unsteered:10.2f}")

    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    vehicles, distances, costs = figure.subplots(1, 3)
    draw_vehicles(vehicles, alone, steered[1.0])
    draw_distances(distances, alone, steered)
    draw_costs(costs, solution, start, alone, steered)
    for axes, corner in ((vehicles, "lower left"), (distances, "lower left"), (costs, "upper left")):
        axes.legend(fontsize=8, loc=corner)
    figure.savefig(picture, dpi=110)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
