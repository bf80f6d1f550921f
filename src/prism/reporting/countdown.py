"""How far a long piece of work is: which of its parts begins, how much time is gone, about how much is left.

The parts have planned seconds p₁ ... p_n. Before part k, after a time T, about

    (T + p) / (p₁ + ... + p_{k−1} + p) · (p_k + ... + p_n),     p the mean of the plan,

is left: the plan, corrected by how fast this machine has been; p keeps the first part from deciding all of it.
"""

import time
from collections.abc import Callable, Sequence

from tqdm import tqdm


class Countdown:
    """Called with what begins, as each part does; it says so, with the time that is gone and left."""

    def __init__(
        self, plan: Sequence[float], say: Callable[[str], None], clock: Callable[[], float] = time.perf_counter
    ):
        self._plan, self._say, self._clock = plan, say, clock
        self._begun, self._number = clock(), 0

    def __call__(self, text: str) -> None:
        gone, done, rest = self._clock() - self._begun, self._plan[: self._number], self._plan[self._number :]
        usual = sum(self._plan) / len(self._plan)
        left = (gone + usual) / (sum(done) + usual) * sum(rest)
        self._number += 1
        times = f"{tqdm.format_interval(gone)} gone, about {tqdm.format_interval(left)} left"
        self._say(f"{self._number} of {max(self._number, len(self._plan))}, {times}: {text}")


def duration(seconds: float) -> str:
    """About how long, in words: 50 seconds, 6 minutes, 2.1 hours."""
    if seconds < 100.0:
        return f"{max(10, round(seconds, -1)):.0f} seconds"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 6_000.0 else f"{seconds / 3600.0:.1f} hours"
