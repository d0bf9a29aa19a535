"""The public API, as a user meets it: names, an example from end to end, and types that a checker sees."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

import tripleshot as ts

CONSUMER = """
import tripleshot as ts
graph = ts.read_graph([("a", "r", "b")])
answers = ts.Predictor(graph).predict("a", examples=[("a", "b")], k=3)
best: str = answers["a"][0].name
model = ts.load("run")
mrr: float = ts.evaluate(model, ts.load_dataset("atlas")).mrr
wrong_name: int = best
wrong_answers: int = answers
wrong_model: int = model
"""


def test_every_public_name_is_there_and_documented():
    assert len(ts.__all__) <= 22
    for name in ts.__all__:
        assert getattr(ts, name).__doc__, name
    assert dir(ts) == sorted(ts.__all__)
    assert Version(ts.__version__) >= Version("0.1.0.dev0")
    with pytest.raises(AttributeError, match="has no attribute 'answerer'"):
        _ = ts.answerer


def test_the_package_logs_and_leaves_it_to_others_to_show_it():
    assert [type(handler) for handler in logging.getLogger("tripleshot").handlers] == [logging.NullHandler]


def test_importing_the_package_draws_in_nothing_heavy():
    heavy = ("torch", "matplotlib", "pandas", "pyarrow")
    script = f"import sys, tripleshot; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_reading_a_graph_and_a_runs_description_needs_no_torch():
    script = (
        "from tripleshot.training.runs import load_config; "
        "import sys, tripleshot as ts; ts.make_dataset(ts.load_dataset('atlas').graph, min_triples=100); "
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


def test_the_example_of_the_api_runs_on_atlas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = ts.load_dataset("atlas").graph
    seas = [("Barcelona", "Mediterranean Sea"), ("Mumbai", "Arabian Sea"), ("Odesa", "Black Sea")]
    predictor = ts.Predictor(graph)
    answers = predictor.predict(["Baku", "Varna"], examples=seas, k=3)
    assert answers["Baku"][0].label == "Caspian Sea"
    assert list(answers.to_pandas()["head_label"]) == ["Baku"] * 3 + ["Varna"] * 3
    answers.write("answers.parquet")
    why = predictor.explain("Baku", "Caspian Sea", examples=seas)
    assert "Caspian Sea" in str(why)
    why.plot("why.svg")
    predictor = predictor.with_triples([("Lisbon", "lies in", "Portugal")])
    assert "Lisbon" in predictor.graph.entities
    data = ts.make_dataset(graph, min_triples=50, max_triples=500, seed=0)
    model = ts.train("evidence-net", data, shots=5, settings={"steps": 3, "valid_queries": 5})
    model.save("runs/seas")
    model = ts.load("runs/seas")
    evaluation = ts.evaluate(model, data)
    assert 0 < evaluation.mrr <= 1
    table = ts.compare(["evidence", "degree"], data, shots=5, budget="10m").to_pandas()
    assert list(table["method"]) == ["evidence", "degree"]
    assert sorted(path.name for path in Path().iterdir()) == ["answers.parquet", "runs", "why.svg"]


def test_a_type_checker_sees_the_types_of_the_package(tmp_path):
    """A checker knows what a consumer's script gets: it finds the lines that are wrong, and no others."""
    (tmp_path / "consumer.py").write_text(CONSUMER)
    assert (Path(ts.__file__).parent / "py.typed").exists()
    source, interpreter = Path(ts.__file__).parents[1], Path(sys.executable)
    (tmp_path / "pyrefly.toml").write_text(f'search-path = ["{source}"]\npython-interpreter-path = "{interpreter}"\n')
    checker = [interpreter.parent / "pyrefly", "check", "consumer.py", "--output-format", "min-text"]
    output = subprocess.run([*map(str, checker)], cwd=tmp_path, capture_output=True, text=True).stdout
    errors = [line for line in output.splitlines() if line.startswith("ERROR")]
    assert ["`str`" in errors[0], "`Answers`" in errors[1], "`Predictor`" in errors[2]] == [True, True, True]
    assert len(errors) == 3
