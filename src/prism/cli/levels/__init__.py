"""The commands for eigenvalue problems: what `prism solve`, `predict`, ... do for potentials and their levels."""
