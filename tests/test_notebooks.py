"""The notebooks of the documentation run, and show what is kept in them: the same kinds of output, the same words."""

import json
import os
import re
import urllib.request

import pytest

from clocks import SteadyClock
from notebooks import (
    FILES,
    code_cells,
    notebooks,
    page_of,
    read_notebook,
    run_notebook,
    sample_server,
    write_outputs,
    write_sample,
)
from shown_html import check_shown

NUMBER = re.compile(r"[-−+]?\d[\d,]*\.?\d*%?|\s+|[.…-]")
TRAINED = ("ts.train(", "ts.compare(", "comparison.")  # what depends on a clock shows other numbers each time
NOTEBOOKS = notebooks()


def words_of(output):
    """Return the words of an output, without numbers, blanks and rules."""
    text = "".join(output.get("text", output.get("data", {}).get("text/plain", [])))
    return NUMBER.sub("", text)


def kinds_of(output):
    return output["output_type"], sorted(output.get("data", {}))


def test_there_is_a_notebook_for_each_of_the_four_ways_to_begin():
    assert [path.stem for path in NOTEBOOKS] == [
        "comparing-and-plotting",
        "data-frame-to-answers",
        "drug-repurposing",
        "measuring-on-your-own-graph",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_has_kept(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tripleshot.training.budget.time", SteadyClock(0.05))
    notebook = read_notebook(path)
    with sample_server():
        outputs = run_notebook(notebook)
    for cell, found in zip(code_cells(notebook), outputs, strict=True):
        source = "".join(cell["source"])
        assert [kinds_of(output) for output in found] == [kinds_of(output) for output in cell["outputs"]], source
        if not any(word in source for word in TRAINED):
            assert [words_of(output) for output in found] == [words_of(output) for output in cell["outputs"]], source
        for output in found:
            html = "".join(output.get("data", {}).get("text/html", []))
            if "mathjax_ignore" in html:
                check_shown(html)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_been_run_in_order_and_names_no_machine(path):
    cells = code_cells(read_notebook(path))
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(tmp|work|root|home|Users)/|127\.0\.0\.1", text)
    assert len(text) < 400_000


def test_a_page_has_the_texts_the_code_and_what_was_shown():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": ["print(1)\n", "value"],
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["x"], "text/html": ["<p>\n", "\n", "x</p>"]}},
                {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}},
            ],
        },
    ]
    page = page_of({"cells": cells})
    assert page.startswith("# Title\ntext\n\n```python\nprint(1)\nvalue\n```\n\n```text\n1\n```\n")
    assert '<div class="notebook-output"><p>  x</p></div>' in page
    assert 'src="data:image/png;base64,AAAA"' in page


def test_outputs_are_kept_with_the_number_of_their_cell(tmp_path):
    notebook = {"cells": [{"cell_type": "code", "source": ["print('so')\n", "40 + 2"], "outputs": []}]}
    path = tmp_path / "small.ipynb"
    write_outputs(path, notebook, run_notebook(notebook))
    (cell,) = json.loads(path.read_text())["cells"]
    printed, given = cell["outputs"]
    assert printed == {"output_type": "stream", "name": "stdout", "text": ["so\n"]}
    assert given["data"] == {"text/plain": ["42"]}
    assert cell["execution_count"] == given["execution_count"] == 1


def test_the_sample_is_made_up_the_same_each_time_and_served_from_this_machine(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_sample(tmp_path / name)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    monkeypatch.setenv("HETIONET", "elsewhere")
    with sample_server():
        address = os.environ["HETIONET"]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}/{FILES[1]}", timeout=10) as answer:
            assert answer.readline() == b"id\tname\tkind\n"
    assert os.environ["HETIONET"] == "elsewhere"
