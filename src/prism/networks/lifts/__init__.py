"""The lift: the one place where the dimension appears, a sum of channel groups."""
