import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripleshot.answering.export.iri_names import IriNames
from tripleshot.errors import InputError

NAMES = IriNames("https://example.org/id/")


@pytest.mark.parametrize("iri", ["http://www.wikidata.org/entity/Q1", "urn:isbn:0", "https://example.org/id/a%20b"])
def test_a_name_that_is_an_iri_stays_as_it_is(iri):
    assert NAMES.iri(iri).value == iri


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Caspian Sea", "Caspian%20Sea"),
        ("city/baku-az", "city/baku-az"),
        ("concept:city:paris", "concept%3Acity%3Aparis"),
        ("http://no iri/", "http%3A//no%20iri/"),
        ("_:b0", "_%3Ab0"),
        ("../x/.", "%2E%2E/x/%2E"),
        ("Łódź", "%C5%81%C3%B3d%C5%BA"),
        ("100%", "100%25"),
    ],
)
def test_any_other_name_is_encoded_behind_the_base(name, written):
    assert NAMES.iri(name).value == f"{NAMES.base}{written}"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_name_comes_back(name):
    assert NAMES.name(NAMES.iri(name).value) == name


def test_what_was_written_once_and_read_again_keeps_its_iri():
    written = NAMES.iri("Caspian Sea").value
    assert NAMES.iri(written).value == written


@pytest.mark.parametrize("base", ["", "example.org/", "city:", "https://example.org/a b"])
def test_a_base_is_the_beginning_of_an_iri(base):
    with pytest.raises(InputError, match="base: expected the beginning of an IRI"):
        IriNames(base)
