import pyarrow as pa
import pytest

from tripleshot.errors import InputError
from tripleshot.graph.readers.page_files import PageFiles, discard_pages

SOURCE = {"url": "http://127.0.0.1/query", "query": None}


def test_pages_are_kept_and_belong_to_a_source(tmp_path):
    folder = tmp_path / "pages"
    pages = PageFiles(folder, SOURCE)
    assert not folder.exists()  # until there is a page
    assert pages.page(0, 0, lambda: pa.table({"a": [1]})).to_pydict() == {"a": [1]}
    again = PageFiles(folder, SOURCE)
    assert again.page(0, 0, lambda: pytest.fail("asked again")).to_pydict() == {"a": [1]}
    assert (again.num_fetched, again.num_kept) == (0, 1)
    with pytest.raises(InputError, match="another source or query"):
        PageFiles(folder, {**SOURCE, "query": "SELECT"})
    discard_pages(folder)
    discard_pages(folder)
    assert not folder.exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    for act in (lambda: discard_pages(tmp_path), lambda: PageFiles(tmp_path, SOURCE)):
        with pytest.raises(InputError, match="found something else"):
            act()
    assert (tmp_path / "thesis.txt").exists()


def test_without_a_folder_nothing_is_kept():
    pages = PageFiles(None, SOURCE)
    for value in (1, 2):
        assert pages.page(0, 0, lambda value=value: pa.table({"a": [value]})).to_pydict() == {"a": [value]}
