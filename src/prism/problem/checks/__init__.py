"""Mistakes in a family, named before it is solved: declarations, traces, values, kinks, the exact solution."""
