"""A finished run that was never trained: what the commands after training read."""

import pytest
from solution.networks import random_network

from prism.cli.options import SolveOptions
from prism.reporting.records import RunDirectory
from prism.solution.artifacts import save


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Sine-Gordon in 6 dimensions, as `prism solve` leaves it. Tests that write into it take a copy."""
    path = tmp_path_factory.mktemp("runs") / "run"
    options = SolveOptions(family="sine-gordon", dim=6, width=4, lift="dense:4+affine:4", depth=2, points=4, steps=1)
    family = options.build_family()
    settings = options.build_settings(family)
    config = options.resolved(settings, family).config()
    RunDirectory.new(path, force=False).begin(config, resume=False)
    save(random_network(family, settings.architecture), family, path / "model", config)
    return path
