"""What the guards cost: against steps that are not finite, and the checks of a family before training."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reliability import figures
from reliability.processes import PATIENCE, SOURCE

MOST_OF_A_STEP, MOST_SECONDS = 0.02, 1.0


@pytest.mark.slow
def test_guards_cost_little():
    """Measured in new processes, in float32 and with the compiler's usual flags."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("guard_costs.py"))],
        env={**environment, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
        timeout=5 * PATIENCE,
    )
    found = json.loads(done.stdout)
    figures.keep("guards", found)
    print(found)
    assert max(one["share of a step"] for one in found["steps"].values()) <= MOST_OF_A_STEP
    assert max(one["seconds of first checks"] for one in found["starts"].values()) <= MOST_SECONDS
