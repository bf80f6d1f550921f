"""One trial: a family solved under some settings for a fixed time after its preparation, and what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism.families import SineGordon
from prism.families.two_body import TwoBodyFamily
from prism.runs import Outcome, execute
from prism.settings import Settings
from prism.streams import PROBLEM, stream
from prism.training.loop import Budget


@dataclass(frozen=True)
class Trial:
    """A name, and the settings it stands for."""

    name: str
    settings: Settings

    def run(self, family: TwoBodyFamily, seconds: float) -> Outcome:
        """Trained for `seconds`, compilation apart: what is compared is the method, not the compiler."""
        return execute(family, self.settings, Budget(seconds_of_steps=seconds), show=False)


def problem(dimension: int, scaled: bool = False, seed: int = 0) -> TwoBodyFamily:
    """The benchmark of the studies: Sine-Gordon with the two-body solution."""
    return SineGordon.create(dimension, stream(seed, PROBLEM), scaled)


def markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as a table; figures with three digits."""
    if not rows:
        return ""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "–" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
