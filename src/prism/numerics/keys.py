"""Independent streams of random numbers from one seed, one for each purpose of a run."""

import jax

from prism.shapes import Key

MODEL, CALIBRATION, TRAINING, EVALUATION, CHECK, PROBLEM, TUNING, TRUST = range(8)


def stream(seed: int, purpose: int) -> Key:
    """The key for one purpose of a seed."""
    return jax.random.fold_in(jax.random.key(seed), purpose)
