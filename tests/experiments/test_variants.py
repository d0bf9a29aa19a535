import pytest

from tripleshot.errors import InputError
from tripleshot.experiments.variants import VARIANTS, Variant, paper_starts, read_methods, read_starts, variant_of
from tripleshot.methods import METHODS
from tripleshot.training.fit import train_run


def test_a_name_is_a_method_with_or_without_a_variant():
    assert Variant.read("rscl") == Variant("rscl")
    assert Variant.read("metar@pre-train").changes() == {"regime": "pre-train"}
    assert str(Variant.read("metar@pre-train")) == "metar@pre-train"


def test_any_setting_makes_a_variant_and_several_can_be_joined():
    changes = Variant.read("rscl@without-local+dropout=0.3+relation_token=own+num_layers=1+use_global=true").changes()
    assert changes == {
        "use_local": False,
        "dropout": 0.3,
        "relation_token": "own",
        "num_layers": 1,
        "use_global": True,
    }


@pytest.mark.parametrize("method", VARIANTS)
def test_every_named_variant_changes_settings_that_the_method_has(method):
    for name in VARIANTS[method]:
        assert Variant.read(f"{method}@{name}").changes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rscl@without-globl", "did you mean 'without-global'"),
        ("rscl@", "say which variant of rscl: there are without-distant"),
        ("faan@pre-train", "give a setting as name=value"),
        ("degree@pre-train", "does not learn"),
        ("rcsl@without-global", "unknown method"),
        ("rscl@dropuot=0.1", "did you mean 'dropout'"),
        ("rscl@num_layers=many", "num_layers is of type int"),
        ("rscl@use_local=no", "true or false"),
        ("rscl@regime=pretrain", "one of pre-train, in-train"),
    ],
)
def test_what_is_not_known_is_refused_with_a_suggestion(text, message):
    with pytest.raises(InputError, match=message):
        Variant.read(text)


def test_settings_tell_which_variant_a_run_is():
    assert str(variant_of("metar", {"regime": "pre-train"})) == "metar@pre-train"
    assert str(variant_of("metar", {"regime": "in-train"})) == "metar"
    assert str(variant_of("rscl", {"max_distant": 0, "global_share": 0.4})) == "rscl@without-distant"
    assert str(variant_of("rscl", {"global_share": 0.4, "max_distant": 5})) == "rscl"
    assert str(variant_of("rscl", {"global_share": 0.2})) == "rscl@lambda-0.2"
    assert str(variant_of("degree", {})) == "degree"


def test_methods_are_read_from_a_list_or_from_between_commas():
    assert read_methods("degree, rscl") == read_methods(["degree", "rscl", "degree"]) == ("degree", "rscl")
    assert read_methods("metar, metar@pre-train") == ("metar", "metar@pre-train")
    assert read_methods(None) == (*METHODS, "metar@pre-train")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("degree,rcsl", "unknown method 'rcsl'"),
        ("rscl@without-locals", "did you mean 'without-local'"),
        ([], "methods: name at least one"),
        ([3], "methods: give names of methods, not 3"),
    ],
)
def test_methods_that_are_not_there_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        read_methods(wrong)


def test_methods_say_what_they_start_from_in_their_papers():
    assert paper_starts() == {
        "gmatching": "complex",
        "fsrl": "complex",
        "faan": "transe",
        "gana": "transe",
        "metar@pre-train": "transe",
        "transr": "transe",
    }


def test_starts_are_read_from_pairs(tiny, tmp_path):
    expected = {"faan": "transe", "metar@pre-train": "transe"}
    assert read_starts("faan=transe, metar@pre-train=transe") == read_starts(expected) == expected
    assert read_starts(None) == paper_starts()
    assert read_starts("") == read_starts({}) == {}
    train_run("degree", tiny, 3, tmp_path)
    assert read_starts(f"rscl={tmp_path}") == {"rscl": str(tmp_path.resolve())}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("faan=degree", "pretrained: faan=degree: give METHOD=EMBEDDING"),
        ("degree=transe", "METHOD=EMBEDDING"),
        ({"faan": "tranze"}, "did you mean 'transe'"),
        ("rscl=nowhere", "not a run"),
    ],
)
def test_starts_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        read_starts(wrong)
