"""What a compiled step needs, against what the machine has: refused before the first step, not killed in it."""

import jax

SHARE = 0.9
"""The part of the free memory that a run may plan with."""


def compiled_bytes(compiled: jax.stages.Compiled) -> int:
    """Arguments, results that do not reuse them, and temporaries of one call."""
    analysis = compiled.memory_analysis()
    if analysis is None:
        return 0
    return (
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        - analysis.alias_size_in_bytes
        + analysis.temp_size_in_bytes
    )
