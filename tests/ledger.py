"""A ledger of random draws: which key was used for what.

Two things that are drawn with one key are functions of the same numbers. The ledger notes the key of every draw, inside
`jit`, `vmap` and loops too, under the functions that asked for it; a key that stands under two different requests is a
collision. The same request made again with the same key is the same draw, and no collision.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

LEAVES = ("uniform", "normal", "randint", "rademacher", "bernoulli", "bits", "choice", "permutation")
"""Functions of `jax.random` that turn a key into numbers."""
DEPTH = 4
"""How many functions of the package, from the innermost, make a request."""


class Page:
    """Requests by the key they were served with, while one thing ran."""

    def __init__(self):
        self.requests: dict[bytes, set[str]] = defaultdict(set)

    def collisions(self) -> list[set[str]]:
        """The requests that shared a key."""
        return [requests for requests in self.requests.values() if len(requests) > 1]

    def functions(self) -> set[str]:
        """Module and name of every function that drew."""
        return {request.split(" < ")[0] for requests in self.requests.values() for request in requests}


class Ledger:
    """Notes on pages. Everything is traced anew for each, so that a request names who asks on that page."""

    def __init__(self, package: Path, forget: Callable[[], None]):
        self._package, self._page, self._forget = str(package), Page(), forget

    def page(self, run: Callable[[], object]) -> Page:
        """All that was drawn while this ran."""
        self._page = Page()
        self._forget()
        jax.block_until_ready(eqx.filter(run(), eqx.is_array))
        jax.effects_barrier()
        return self._page

    def noting(self, draw: Callable, name: str) -> Callable:
        """The draw, noted with its key and who asked for it."""

        def noted(key, *arguments, **options):
            request = f"{self._asking()} | {name}"
            note = lambda data: self._page.requests[np.asarray(data).tobytes()].add(request)
            jax.debug.callback(note, jax.random.key_data(key))
            return draw(key, *arguments, **options)

        return noted

    def _asking(self) -> str:
        frames = [frame for frame in inspect.stack(0) if frame.filename.startswith(self._package)]
        names = [f"{Path(f.filename).stem}.{f.frame.f_code.co_qualname}:{f.lineno}" for f in frames[:DEPTH]]
        return " < ".join(names)


@contextmanager
def ledger(package: Path, threefry_module, forget: Callable[[], None]) -> Iterator[Ledger]:
    """Every draw that is traced in this context is noted in the ledger; `forget` drops what was traced before."""
    book, kept = Ledger(package, forget), {name: getattr(jax.random, name) for name in LEAVES}
    threefry = threefry_module.threefry
    try:
        for name, draw in kept.items():
            setattr(jax.random, name, book.noting(draw, name))
        threefry_module.threefry = book.noting(threefry, "threefry")
        yield book
    finally:
        for name, draw in kept.items():
            setattr(jax.random, name, draw)
        threefry_module.threefry = threefry
        forget()
