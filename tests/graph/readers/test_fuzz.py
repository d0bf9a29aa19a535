import contextlib
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damage import EDITS, GRAPH_FILES, mutated
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def read_or_refuse(path, content):
    path.write_bytes(content)
    with warnings.catch_warnings(), contextlib.suppress(InputError):
        warnings.simplefilter("ignore", InputWarning)
        read_graph(path)


@pytest.mark.parametrize("name", GRAPH_FILES)
@given(content=st.binary(max_size=200))
def test_no_bytes_raise_anything_but_an_input_error(folder, name, content):
    read_or_refuse(folder / name, content)


@pytest.mark.parametrize("name", GRAPH_FILES)
@given(edits=EDITS)
def test_no_damage_to_a_valid_file_raises_anything_but_an_input_error(folder, name, edits):
    read_or_refuse(folder / name, mutated(GRAPH_FILES[name], edits))


@pytest.mark.parametrize("name", GRAPH_FILES)
def test_the_files_that_are_damaged_are_valid(folder, name):
    path = folder / name
    path.write_bytes(GRAPH_FILES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        assert read_graph(path).num_triples >= 1
