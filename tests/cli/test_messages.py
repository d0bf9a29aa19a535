import logging
import sys
import warnings

import pytest

from tripleshot.cli.messages import is_quiet, logger, set_verbosity, terminal_logging, with_flags
from tripleshot.errors import InputWarning


@pytest.mark.parametrize(
    ("message", "words", "expected"),
    [
        ("num_negatives must be 1 or more", ["--num-negatives", "0"], "--num-negatives must be 1 or more"),
        ("num_negatives must be 1 or more", ["--num-negatives=0"], "--num-negatives must be 1 or more"),
        ("num_negatives must be 1 or more", [], "num_negatives must be 1 or more"),
        ('2 literals skipped; literals="keep" makes entities of them', [], "--literals keep makes"),
        (
            "x.tsv: columns= names columns of a header, header=False says",
            [],
            "--columns names columns of a header, --no-",
        ),
        (
            "change min_triples or max_triples (the largest)",
            ["train", "x.csv"],
            "change --min-triples or --max-triples of `tripleshot data make` (the largest)",
        ),
        (
            "change min_triples or max_triples (the largest)",
            ["-v", "data", "make", "x.csv"],
            "change --min-triples or --max-triples (the largest)",
        ),
        (
            "relations_per_step must divide batch_size, 100",
            ["train", "x.csv", "run", "--batch-size", "100"],
            "--relations-per-step must divide --batch-size, 100",
        ),
        (
            "give --pretrained, or leave fine_tune on",
            ["-q", "train", "x.csv", "run", "--no-fine-tune"],
            "give --pretrained, or leave --fine-tune on",
        ),
        ("the graph has no relation 'batch_size'", ["ask", "x.csv"], "the graph has no relation 'batch_size'"),
        (
            "cannot tell them apart; name them with columns=(head, relation, tail)",
            [],
            "name them with --columns HEAD RELATION TAIL",
        ),
        ("the head my_shots has no shots", ["--shots", "5"], "the head my_shots has no shots"),
    ],
)
def test_arguments_of_python_are_named_as_flags(message, words, expected):
    assert expected in with_flags(message, words)


def test_what_is_a_command_is_not_also_a_call_of_python():
    message = "run `tripleshot data fetch nell-one` or load_dataset('nell-one', fetch=True)"
    assert with_flags(message, ["evaluate", "nell-one"]) == "run `tripleshot data fetch nell-one`"


def test_settings_have_no_flags_where_there_is_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "tripleshot.cli.train", None)
    assert with_flags("fine_tune needs PyTorch", ["train"]) == "fine_tune needs PyTorch"


@pytest.mark.parametrize(("verbosity", "shown"), [(-1, 0), (0, 1), (1, 2), (2, 3), (9, 3)])
def test_records_are_shown_up_to_the_verbosity(verbosity, shown, capsys):
    with terminal_logging():
        set_verbosity(verbosity)
        assert is_quiet() == (verbosity < 0)
        for level in (logging.WARNING, logging.INFO, logging.DEBUG):
            logger.log(level, "about [Baku] %d", level)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["warning: about [Baku] 30", "info: about [Baku] 20", "debug: about [Baku] 10"][:shown]


def test_warnings_are_shown_like_records_and_the_loggers_are_left_as_they_were(capsys):
    before = (logger.level, list(logger.handlers))
    with terminal_logging():
        set_verbosity(0)
        warnings.warn("a line was skipped", InputWarning, stacklevel=1)
        set_verbosity(-1)
        warnings.warn("another one", InputWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: a line was skipped\n"
    assert (logger.level, logger.handlers) == before
