"""One trained eigensolution, shared by all tests."""

import jax
import pytest
from eigen.cases import Trained, train


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Trained:
    """Two levels of the coupled oscillator in 4 dimensions, after 60 steps, in the directory of its run. Tests that
    write into it take a copy."""
    with jax.numpy_rank_promotion("allow"):
        return train(tmp_path_factory.mktemp("eigen") / "run")


@pytest.fixture(scope="module", autouse=True)
def functions_times_their_scales():
    """Arrays of functions are multiplied by a number for each, which broadcasts over the nodes."""
    with jax.numpy_rank_promotion("allow"):
        yield
