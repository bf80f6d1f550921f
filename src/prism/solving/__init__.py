"""From a family to a solution: settings with one rule of defaults, and runs."""
