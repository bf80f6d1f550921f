"""How far a piece of work is whose parts are counted."""

import sys
from collections.abc import Callable

from tqdm import tqdm


class Steps:
    """`with Steps("exploring", 20) as tell:` a bar over so many steps, one for each call of `tell`.

    It is quiet where `show` is off, and sparse where nobody watches a terminal.
    """

    def __init__(self, work: str, count: int, show: bool = True):
        watched = sys.stderr.isatty()
        form = "{desc} {percentage:3.0f}%|{bar:24}| {elapsed}<{remaining}"
        self._bar = tqdm(total=count, desc=work, file=sys.stderr, mininterval=0.2 if watched else 15.0, bar_format=form)

    def __enter__(self) -> Callable[[], None]:
        return self._step

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def _step(self) -> None:
        self._bar.update(1)
