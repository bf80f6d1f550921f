"""A progress bar over a piece of work whose parts are counted."""

import sys
from collections.abc import Callable

from tqdm import tqdm


class WorkBar:
    """`with WorkBar("exploring", 20) as tell:` a bar over so many parts, one for each call of `tell`.

    It is quiet where `show` is off, and sparse where nobody watches a terminal.
    """

    def __init__(self, work: str, count: int, show: bool = True):
        watched = sys.stderr.isatty()
        form = "{desc} {percentage:3.0f}%|{bar:24}| {elapsed}<{remaining}"
        pause = 0.2 if watched else 15.0
        self._bar = tqdm(total=count, desc=work, disable=not show, file=sys.stderr, mininterval=pause, bar_format=form)

    def __enter__(self) -> Callable[[], None]:
        return self._tell

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def _tell(self) -> None:
        self._bar.update(1)
