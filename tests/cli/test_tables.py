"""Tables of points and values: what is written is read again, with or without a header."""

from pathlib import Path

import jax
import numpy as np
import pytest

import prism
from prism.cli.tables import BEYOND, VALUE, Columns, encoded, read_observations, read_points

COLUMNS = Columns.of(prism.TimeCylinder(prism.WholeSpace(2)))
POINTS = np.asarray([[0.1, 0.2, 0.5], [-0.3, 0.4, 0.25]])
VALUES, OUTSIDE = np.asarray([1.5, -2.0]), np.asarray([False, True])


def test_columns_are_named_as_people_do():
    assert COLUMNS.names == ("x1", "x2", "t")
    assert Columns.of_space(9).describe() == "x1,x2,...,x8,x9"


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_what_is_written_is_read(tmp_path, suffix):
    file = tmp_path / f"table{suffix}"
    file.write_bytes(encoded(suffix, COLUMNS, POINTS, {VALUE: VALUES, BEYOND: OUTSIDE}, {"k": 2.0}))
    assert np.array_equal(read_points(file, COLUMNS), POINTS)
    points, values = read_observations(file, COLUMNS)
    assert np.array_equal(points, POINTS)
    assert np.array_equal(values, VALUES)


ROWS = "0.1,0.2,0.5,1.5\n-0.3,0.4,0.25,-2\n"
FORMS = {
    "no header": ROWS,
    "a header": "x1,x2,t,u\n" + ROWS,
    "a header behind #, as numpy writes it": "# x1,x2,t,u\n" + ROWS,
    "a remark": "# measured on Monday\n" + ROWS,
    "another order": "u,t,x2,x1\n1.5,0.5,0.2,0.1\n-2,0.25,0.4,-0.3\n",
    "more columns": "x1,x2,t,u,weight\n0.1,0.2,0.5,1.5,1\n-0.3,0.4,0.25,-2,1\n",
    "as Excel writes it": "\ufeffx1,x2,t,u\n" + ROWS,
    "Excel without a header": "\ufeff" + ROWS,
    "an empty first line": "\n" + ROWS,
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_usual_form_is_read(tmp_path, text):
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    points, values = read_observations(tmp_path / "data.csv", COLUMNS)
    assert np.array_equal(points, POINTS)
    assert np.array_equal(values, VALUES)


REFUSED = {
    "a missing column": ("x1,t,u\n1,2,3\n", "no column x2; a header names x1,x2,t and u"),
    "a column twice": ("x1,x1,x2,t,u\n1,2,3,4,5\n", "a header that does not fit its rows"),
    "words": ("x1,x2,t,u\na,b,c,d\n", "cannot read observations"),
    "nothing": ("", "cannot read observations"),
    "a header alone": ("x1,x2,t,u\n", "cannot read observations"),
    "too few columns": ("1,2\n", "a table of shape \\(1, 2\\); give rows of 3 coordinates and a value"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_other_files_are_refused(tmp_path, text, message):
    file = Path(tmp_path / "data.csv")
    file.write_text(text)
    with pytest.raises(prism.InputError, match=message):
        read_observations(file, COLUMNS)


@pytest.mark.parametrize("column", [1, 3])
def test_what_is_finite_in_the_file_alone_is_refused_by_row(tmp_path, column):
    file, rows = tmp_path / "data.npy", np.asarray([[0.1, 0.2, 0.5, 1.5]] * 3)
    rows[2, column] = 1e39
    np.save(file, rows)
    assert read_observations(file, COLUMNS)[0].shape == (3, 3), "as these tests run, in double precision"
    with jax.enable_x64(False), pytest.raises(prism.InputError, match=r"not finite in float32, in row 2 \(from 0\)"):
        read_observations(file, COLUMNS)


def test_arrays_of_other_things_are_refused(tmp_path):
    for name, array in {"objects": np.asarray([{}]), "complex": POINTS + 1j, "truth": POINTS > 0}.items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
        with pytest.raises(prism.InputError, match=r"cannot read points: .*\.npy holds .*; give real numbers"):
            read_points(tmp_path / f"{name}.npy", COLUMNS)
    np.savez(tmp_path / "none.npz", other=POINTS)
    with pytest.raises(prism.InputError, match=r"none\.npz holds no array points; give rows of 3 numbers"):
        read_points(tmp_path / "none.npz", COLUMNS)
