"""From noisy values of u back to the physical parameters, through a trained solution."""
