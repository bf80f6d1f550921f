"""What is seen on standard error while a run goes on: the time of preparation, then a bar over the budget."""

import sys
import threading
import time
from collections.abc import Callable

from tqdm import tqdm

from prism.training.loop import Budget, Progress


class Preparation:
    """`with Preparation("compiling", show) as clock:` a line that counts the seconds, and at the end how many it were.

    `clock()` tells the seconds so far. Where nobody watches a terminal the line is written once, when it is over.
    """

    def __init__(self, work: str, show: bool):
        self._work, self._show = work, show
        self._over = threading.Event()
        self._begun = time.perf_counter()

    def __enter__(self) -> Callable[[], float]:
        if self._show and sys.stderr.isatty():
            threading.Thread(target=self._count, daemon=True).start()
        return self._seconds

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if self._show:
            back = "\r" if sys.stderr.isatty() else ""
            print(f"{back}{self._line()}", file=sys.stderr, flush=True)

    def _count(self) -> None:
        while not self._over.wait(0.5):
            print(f"\r{self._line()}", end="", file=sys.stderr, flush=True)

    def _line(self) -> str:
        return f"{self._work} ... {self._seconds():.0f} s"

    def _seconds(self) -> float:
        return time.perf_counter() - self._begun


class ProgressBar:
    """A bar over the budget, quiet where `show` is off and sparse where nobody watches a terminal. Its clock is that of
    the training, which the budget counts: what is compiled and measured beside it takes none of it."""

    def __init__(self, budget: Budget, show: bool):
        watched = sys.stderr.isatty()
        self._bar = tqdm(
            total=1.0,
            disable=not show,
            file=sys.stderr,
            mininterval=0.2 if watched else 15.0,
            bar_format="{percentage:3.0f}%|{bar:24}| {desc}",
        )
        self._budget = budget

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, progress: Progress, error: float | None) -> None:
        rate = 1.0 / max(progress.seconds_per_step, 1e-9)
        parts = [self._clock(progress), f"step {progress.step:,}"]
        parts.append("no loss" if progress.loss is None else f"loss {progress.loss:.2e}")
        if error is not None:
            parts.append(f"relative L2 {error:.2e}")
        parts.append(f"{rate:.3g} steps/s")
        if progress.skipped:
            parts.append(f"{progress.skipped} skipped")
        self._bar.set_description_str(", ".join(parts), refresh=False)
        self._bar.update(progress.fraction - self._bar.n)

    def _clock(self, progress: Progress) -> str:
        """Seconds of training, of how many, or how many more they will be."""
        gone = tqdm.format_interval(progress.seconds)
        if self._budget.seconds is not None:
            return f"{gone} of {tqdm.format_interval(self._budget.seconds)}"
        left = ((self._budget.steps or 0) - progress.step) * progress.seconds_per_step
        return f"{gone}<{tqdm.format_interval(max(0.0, left))}"
