"""Strict mode for every test: float64, no silent broadcasting over ranks, shapes checked against their annotations."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests compile much and run little.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"

import jax
import jaxtyping

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
# Before anything imports prism: modules imported earlier would go unchecked.
jaxtyping.install_import_hook(["prism"], "strict.check")
