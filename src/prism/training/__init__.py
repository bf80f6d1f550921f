"""Training: the loop, optimisers, checkpoints and guards."""
