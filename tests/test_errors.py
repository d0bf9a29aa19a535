import pytest

from tripleshot.errors import InputWarning, did_you_mean, warn


def test_a_misspelt_name_suggests_the_likeliest_known_one():
    assert did_you_mean("pariss", ["rome", "paris"]) == "; did you mean 'paris'?"
    assert did_you_mean("xyz", ["rome", "paris"]) == ""


def test_a_warning_points_to_the_code_that_called_the_package():
    with pytest.warns(InputWarning, match="three lines skipped") as caught:
        warn("three lines skipped")
    assert caught[0].filename == __file__
