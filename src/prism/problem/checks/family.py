"""A mistake in a family is named when it is built or first traced, in seconds, not met as a wrong answer."""

from prism.numerics.ahead import without_garbage_collection
from prism.numerics.keys import Purpose, child
from prism.problem.checks.declarations import check_declarations
from prism.problem.checks.exact import check_exact
from prism.problem.checks.kinks import check_smooth
from prism.problem.checks.passed import digest_of, passed_before, remember_passed
from prism.problem.checks.traces import check_traces
from prism.problem.checks.values import check_values
from prism.problem.family import Family
from prism.shapes import Key


@without_garbage_collection()
def check_family(family: Family, key: Key) -> None:
    """Raise an InputError that names the first mistake in a family's declarations, its functions as they are traced,
    their values, its exact solution, or functions with kinks. A family that passed before is traced alone."""
    check_declarations(family)
    digest = digest_of(family, check_traces(family, key), key)
    if passed_before(digest):
        return
    pairs = check_values(family, key)
    check_smooth(family, child(key, Purpose.SLOPES))
    check_exact(family, pairs, child(key, Purpose.CONDITIONS))
    remember_passed(digest)
