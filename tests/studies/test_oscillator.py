"""The study of the oscillator, run small."""

import pytest
from studies.bench import bench

from prism.eigen.forms import Product, Sum, Train
from prism.networks.modulation import NONE
from prism.studies import oscillator
from prism.studies.oscillator import PLAIN, AnharmonicChain, Piece


@pytest.mark.slow
def test_the_oscillator_study_runs(monkeypatch, tmp_path, capsys):
    pieces = (
        Piece(6, Product(1), 1.0),
        Piece(6, Product(), 1.0, modulation=NONE),
        Piece(6, Product(), 1.0, shared=False),
        Piece(100, Sum(1), 1.0, PLAIN),
        Piece(100, Train(2), 1.0, PLAIN),
        Piece(3, Train(2), 1.0, AnharmonicChain),
    )
    monkeypatch.setattr(oscillator, "PIECES", pieces)
    monkeypatch.setattr(oscillator, "GRID_DIMENSION", 6)
    measured = bench("oscillator", tmp_path, capsys)
    assert [one["what"] for one in measured][:3] == ["shared network", "blind to μ", "own networks"]
    assert measured[-1]["error of λ"] < 1e-8  # of the grid
