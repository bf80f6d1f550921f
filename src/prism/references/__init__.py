"""Independent solutions, each with its uncertainty: what a trained network is judged by where no formula is known."""
