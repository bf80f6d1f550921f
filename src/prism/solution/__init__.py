"""The trained artifact: predict, evaluate, trust, tune, save, export."""
