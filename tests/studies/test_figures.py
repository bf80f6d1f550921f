"""Series can be told apart, and ticks read as plain numbers."""

from prism.studies.figures import MARKERS, PALETTE, log_ticks, offsets, panels, styles


def test_series_differ_in_colour_and_marker():
    looks = styles(["a", "b", "a", "c"])
    assert list(looks) == ["a", "b", "c"]
    assert len({look["color"] for look in looks.values()}) == len({look["marker"] for look in looks.values()}) == 3
    assert len(set(PALETTE)) == len(set(MARKERS)) == len(PALETTE)


def test_offsets_are_even_and_around_zero():
    assert offsets(3, 0.5) == [-0.5, 0.0, 0.5]
    assert offsets(2, 1.0) == [-0.5, 0.5]


def test_logarithmic_ticks_are_plain_numbers():
    figure, ((axes,),) = panels(1, 1, (3.0, 3.0))
    axes.plot([0.1, 2000.0], [1.0, 2.0])
    axes.set_xscale("log")
    log_ticks(axes.xaxis)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert {"0.1", "1", "10", "100", "1,000"} <= set(labels)
