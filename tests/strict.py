"""The run-time type checker that `conftest.py` puts on every function of prism."""

from typing import Any, Self

from beartype import BeartypeConf, FrozenDict, beartype

# The import hook decorates functions one by one, and beartype reads `Self` on whole classes only.
check = beartype(conf=BeartypeConf(hint_overrides=FrozenDict({Self: Any})))
