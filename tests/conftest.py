"""Strict mode for every test: float64, no silent broadcasting over ranks, shapes checked against their annotations."""

import os
import signal

os.environ.setdefault("MPLBACKEND", "Agg")
# No test reads or fills the user's cache of compiled programs.
os.environ["PRISM_CACHE_DIR"] = "off"
# Tests compile much and run little: without LLVM's optimisations and with XLA's plain loops instead of its newer, tiled
# ones, a float64 program compiles in a fifth of the time. (Other flags for that were measured to change nothing.)
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)

import hypothesis
import jax
import jaxtyping

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
# Before anything imports prism: modules imported earlier would go unchecked.
jaxtyping.install_import_hook(["prism"], "strict.check")
# The same examples in every run, and no wall clock: a busy machine changes nothing.
hypothesis.settings.register_profile("strict", deadline=None, derandomize=True)
hypothesis.settings.load_profile("strict")

# In the background of a shell this process ignores Ctrl-C, and so would those that it starts to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = "test_documents.py"
"""Whose few tests train networks."""


def pytest_collection_modifyitems(items):
    """The longest file first."""
    items.sort(key=lambda item: item.path.name != LONGEST)
