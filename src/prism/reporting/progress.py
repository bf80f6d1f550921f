"""The bar on standard error: how far, loss, error, steps per second, time left."""

import sys

from tqdm import tqdm

from prism.training.loop import Budget, Progress


class ProgressBar:
    """A bar over the budget, quiet where `show` is off and sparse where nobody watches a terminal."""

    def __init__(self, budget: Budget, show: bool):
        watched = sys.stderr.isatty()
        self._bar = tqdm(
            total=1.0,
            disable=not show,
            file=sys.stderr,
            mininterval=0.2 if watched else 15.0,
            bar_format="{desc}{percentage:3.0f}%|{bar:24}| {elapsed}<{remaining}{postfix}",
        )
        self._budget = budget

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, progress: Progress, error: float | None) -> None:
        rate = 1.0 / max(progress.seconds_per_step, 1e-9)
        parts = [f"step {progress.step:,}", "no loss" if progress.loss is None else f"loss {progress.loss:.2e}"]
        if error is not None:
            parts.append(f"relative L2 {error:.2e}")
        parts.append(f"{rate:.3g} steps/s")
        if progress.skipped:
            parts.append(f"{progress.skipped} skipped")
        self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.update(progress.fraction - self._bar.n)
