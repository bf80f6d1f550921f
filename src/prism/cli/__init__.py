"""The command `prism`: the only place that maps names to objects. JAX is imported by a command, not by --help."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command in this process; 0 done, 2 bad input, 1 failed, 130 or 143 interrupted."""
    from prism.cli.calls import call  # here, so that `prism.cli.process` listens to signals before all else is imported

    return call(arguments)
