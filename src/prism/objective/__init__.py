"""What is minimised: residuals at one pair, the rows of a batch, and the units they are measured in."""
