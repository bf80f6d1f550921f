"""The file of a page: whole by itself, safe, of a size that knows no dimension."""

import json
import re

import pytest
from solution.explorer.pages import Anywhere, content_of, solution_of

from prism.errors import InputError, UnusableOutput
from prism.networks.lifts.parts import Dense
from prism.problem.domains import Ball
from prism.problem.parameters import Uniform
from prism.solution.explorer.content import axes_named, usual_coordinates
from prism.solution.explorer.page import Page


class Named(Anywhere):
    """Δu = 0 <script>alert("1")</script> & </script>."""


def page_of(dimension: int = 3) -> Page:
    solution = solution_of(Named(Ball(dimension), Uniform(k=(0.5, 1.5))), Dense(4))
    return Page({**content_of(solution, ["x1", "x2"]), "remarks": ["</script>"], "served": False})


@pytest.fixture(scope="module")
def page():
    return page_of()


def test_it_fetches_nothing(page):
    whole = page.html()
    assert not re.findall(r"https?://|//cdn|@import|<link|<iframe|src=", whole)
    assert "default-src 'none'" in whole
    assert not re.findall(
        r"\$\w+", re.sub(r"<script>.*</script>", "", whole, flags=re.DOTALL)
    )  # every place was filled


def test_what_a_family_says_is_text(page):
    whole = page.html()
    assert whole.count("<script") == 2
    assert whole.count("</script>") == 2
    content = re.search(r'id="content">(.*?)</script>', whole, re.DOTALL)
    assert json.loads(content[1])["equation"].startswith("Δu = 0 <script>")


def test_it_does_not_grow_with_the_dimension(page):
    assert len(page_of(400).html()) < 1.02 * len(page.html())


def test_it_is_written_once(page, tmp_path):
    page.save(tmp_path / "page.html")
    with pytest.raises(UnusableOutput, match="exists"):
        page.save(tmp_path / "page.html")
    page.save(tmp_path / "page.html", force=True)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html()


def test_a_notebook_shows_it_in_a_frame(page):
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count("<") == 2  # the frame alone: all else is quoted


def test_a_page_of_another_version_is_refused(page):
    with pytest.raises(InputError, match="another version"):
        Page({**page.content, "format": 0}).html()


def test_the_usual_coordinates():
    family = lambda dimension: Anywhere(Ball(dimension), Uniform(k=(0.5, 1.5)))
    assert usual_coordinates(family(1)) == ["x1"]
    assert usual_coordinates(family(4)) == ["x1", "x2", "x3", "x4"]
    assert usual_coordinates(family(100)) == ["x1", "x2", "x50", "x100"]
    assert usual_coordinates(family(100_000)) == ["x1", "x2", "x100000"]


def test_too_many_coordinates_are_refused():
    family = Anywhere(Ball(20), Uniform(k=(0.5, 1.5)))
    with pytest.raises(InputError, match="9 coordinates are named"):
        axes_named(family, [f"x{number}" for number in range(1, 10)])
