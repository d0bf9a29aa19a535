import gzip
import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.conftest import EXAMPLES, PLACES
from server.conftest import Client
from tripleshot.answering.answers import Answer
from tripleshot.answering.loading import open_predictor
from tripleshot.answering.ranking import Ranked
from tripleshot.cli.ask import _answers_table
from tripleshot.cli.display import console
from tripleshot.server import Limits, create_app
from tripleshot.server.schemas import Answers


def test_a_question_is_answered_and_explained(run, evidence_run):
    code, out, err = run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--top", 3, "--explain")
    assert (code, err) == (0, "")
    assert "Caspian Sea" in out
    assert "confidence" in out
    assert "Why Caspian Sea for Baku?" in out


def test_answers_are_printed_as_json(run, evidence_run):
    code, out, _ = run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--head", "city/mumbai-in", "--json")
    assert code == 0
    first, second = json.loads(out)["results"]
    assert first["head"]["label"] == "Baku"
    assert first["num_candidates"] == second["num_candidates"] + 1
    assert 0 <= first["none"] <= 1
    best = first["answers"][0]
    assert best["rank"] == 1
    assert best["entity"]["name"] == "sea/caspian-sea"
    assert best.keys() == {"rank", "entity", "score", "confidence", "is_known"}
    words = ("--head", "city/mumbai-in", "--json", "--with-known", "--explain", "--top", 100)
    (result,) = json.loads(run("ask", evidence_run, *EXAMPLES, *words)[1])["results"]
    assert result["num_candidates"] == len(result["answers"]) == first["num_candidates"]
    assert sum(one["is_known"] for one in result["answers"]) == 1
    assert result["text"].startswith("Why ")


def test_the_json_is_the_one_that_the_server_answers_with(run, evidence_run):
    words = ("--head", "Baku", "--head", "city/mumbai-in", "--json", "--with-known", "--top", 4, "--candidates", "sea")
    printed = json.loads(run("ask", evidence_run, *EXAMPLES, *words)[1])
    names = (("Barcelona", "Mediterranean Sea"), ("city/mumbai-in", "sea/arabian-sea"), ("Odesa", "Black Sea"))
    question = {
        "examples": [{"head": head, "tail": tail} for head, tail in names],
        "heads": ["Baku", "city/mumbai-in"],
        "top": 4,
        "candidates": ["sea"],
        "with_known": True,
    }
    served = Client(create_app(open_predictor(str(evidence_run)), Limits(), None)).post("/answer", json=question).json()
    assert Answers.model_validate(printed, extra="forbid").model_dump() == printed
    assert printed.pop("seconds") >= 0
    assert served.pop("seconds") >= 0
    assert printed == served


def test_many_questions_go_from_file_to_file(run, evidence_run, tmp_path):
    (tmp_path / "examples.tsv").write_text("Barcelona\tMediterranean Sea\n\nMumbai\tArabian Sea\n")
    (tmp_path / "heads.txt").write_text("Baku\nOdesa\n")
    files = ("--examples", tmp_path / "examples.tsv", "--heads", tmp_path / "heads.txt")
    code, out, err = run("ask", evidence_run, *files, "--out", tmp_path / "out.tsv", "--candidates", "sea", "--top", 2)
    assert (code, err) == (0, "")
    assert "2 heads" in out
    assert (tmp_path / "out.tsv").read_text().count("\n") == 5


def test_new_triples_can_be_asked_about(run, evidence_run, tmp_path):
    (tmp_path / "new.tsv").write_text("city/new-baku\tin_country\tcountry/azerbaijan\n")
    code, out, err = run("ask", evidence_run, *EXAMPLES, "--head", "city/new-baku", "--add", tmp_path / "new.tsv")
    assert (code, err) == (0, "")
    assert "1 │ Caspian Sea" in out


def test_an_answer_is_drawn(run, evidence_run, tmp_path):
    assert run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--picture", tmp_path / "baku.png")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"baku-reasons.png"}


@pytest.mark.parametrize("name", ["evidence_run", "evidence_net_run"])
def test_asking_for_evidence_waits_for_nothing_heavy(name, request, tmp_path):
    (tmp_path / "more.tsv").write_text("city/new\tis in\tcity/baku-az\n")
    question = (*EXAMPLES, "--head", "Baku", "--explain", "--add", str(tmp_path / "more.tsv"))
    lines = (
        "import sys",
        "from tripleshot.cli import app",
        f"app({['ask', str(request.getfixturevalue(name)), *question]!r}, result_action='return_value')",
        "print([name for name in ('torch', 'matplotlib') if name in sys.modules])",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.stdout.endswith("[]\n"), done.stderr


def test_an_unknown_entity_suggests_the_nearest(run, evidence_run):
    code, _, err = run("ask", evidence_run, *EXAMPLES, "--head", "Bakuu")
    assert code == 1
    assert "unknown entity 'Bakuu': did you mean city/baku-az" in err


def test_a_wrong_line_of_examples_is_named(run, tmp_path):
    (tmp_path / "examples.tsv").write_text("a\tb\na b\n")
    code, _, err = run("ask", tmp_path, "--examples", tmp_path / "examples.tsv", "--head", "x")
    assert code == 1
    assert "examples.tsv:2: expected head, tab, tail" in err


@pytest.mark.parametrize(("count", "top"), [(1, 2), (5, 1), (10, 1)])
def test_a_file_is_asked_in_one_command_and_every_triple_counts(run, companies, places, count, top):
    heads = list(PLACES)[20:40]
    code, out, err = run(
        "ask", companies, *places(count), *(f"--head={head}" for head in heads), "--top", top, "--json"
    )
    assert (code, err) == (0, "")
    results = json.loads(out)["results"]
    found = [{answer["entity"]["name"] for answer in one["answers"]} for one in results]
    assert all(PLACES[head] in best for head, best in zip(heads, found, strict=True))
    assert [path.name for path in companies.parent.iterdir()] == [companies.name]


def test_the_table_says_how_likely_it_is_that_no_candidate_is_right(run, companies, places):
    words = ("ask", companies, *places(5), "--head", "person 30", "--top", 2)
    out = run(*words)[1]
    assert re.search(r"none of the 6 candidates +│ [█░]{10} +\d+%", out)
    (result,) = json.loads(run(*words, "--json")[1])["results"]
    assert 0 < result["none"] < 1
    assert all(0 < answer["confidence"] < 1 for answer in result["answers"])
    plain = (*words, "--method", "evidence")
    assert "none of the" not in run(*plain)[1]
    assert json.loads(run(*plain, "--json")[1])["results"][0]["none"] is None


@pytest.fixture
def geography(tmp_path):
    """Cities in countries in continents, and which countries border: a file as someone has it."""
    lands = {
        "Italy": "Europe",
        "France": "Europe",
        "Kenya": "Africa",
        "Ghana": "Africa",
        "Japan": "Asia",
        "India": "Asia",
    }
    towns = {"Rome": "Italy", "Milan": "Italy", "Turin": "Italy", "Paris": "France", "Lyon": "France", "Nice": "France"}
    towns |= {"Nairobi": "Kenya", "Mombasa": "Kenya", "Accra": "Ghana", "Kumasi": "Ghana", "Tokyo": "Japan"}
    towns |= {"Osaka": "Japan", "Kyoto": "Japan", "Mumbai": "India", "Delhi": "India", "Chennai": "India"}
    rows = [(town, "is in", land) for town, land in towns.items()]
    rows += [(land, "is part of", part) for land, part in lands.items()]
    rows += [("Italy", "borders", "France"), ("France", "borders", "Italy")]
    path = tmp_path / "geography.csv"
    path.write_text("from,relation,to\n" + "".join(f"{','.join(row)}\n" for row in rows))
    return path, {town: lands[land] for town, land in towns.items()}


def test_one_example_is_enough_for_right_answers_from_a_small_file(run, geography):
    path, parts = geography
    heads = [town for town in parts if town != "Rome"]
    words = ("ask", path, "--example", "Rome | Europe", *(f"--head={head}" for head in heads), "--top", 1, "--json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    found = {one["head"]["name"]: one["answers"][0]["entity"]["name"] for one in json.loads(out)["results"]}
    assert found == {head: parts[head] for head in heads}


def test_the_heads_of_a_tail_are_found_in_a_small_file(run, geography):
    path, parts = geography
    code, out, err = run("ask", path, "--example", "Rome | Europe", "--tail", "Africa", "--top", 4, "--json")
    assert (code, err) == (0, "")
    (result,) = json.loads(out)["results"]
    assert {parts.get(one["entity"]["name"]) for one in result["answers"]} == {"Africa"}
    assert 0 <= result["none"] <= 1


def test_an_answer_from_a_file_is_explained_by_its_triples(run, companies, places):
    code, out, err = run("ask", companies, *places(5), "--head", "person 30", "--explain", "--relation", "lives in")
    assert (code, err) == (0, "")
    assert out.startswith("person 30 — lives in → ?\n")
    assert f"1 │ {PLACES['person 30']}" in out
    assert "“works at”, then “located in”" in out
    assert "(lives in)?" in out
    assert "says nothing about" not in out


@pytest.mark.parametrize("name", ["graph.tsv", "graph.csv.gz", "graph.nt", "graph.ttl", "graph.parquet"])
def test_every_format_is_asked_alike(run, company_triples, places, tmp_path, name):
    path, triples = tmp_path / name, company_triples
    iris = [[f"<http://example.org/{cell.replace(' ', '_')}>" for cell in row] for row in triples]
    if name.endswith(".parquet"):
        columns = dict(zip(("head", "relation", "tail"), zip(*triples, strict=True), strict=True))
        pq.write_table(pa.table({column: list(cells) for column, cells in columns.items()}), path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress("".join(f"{','.join(row)}\n" for row in triples).encode()))
    elif name.endswith(".tsv"):
        path.write_text("".join("\t".join(row) + "\n" for row in triples))
    else:
        path.write_text("".join(f"{' '.join(row)} .\n" for row in iris))
    words = [*places(5), "--head", "person 30"]
    if path.suffix in (".nt", ".ttl"):  # the last part of an IRI is enough
        words = [re.sub(r"(person|city) (\d+)", r"\1_\2", word) for word in words]
    code, out, err = run("ask", path, *words, "--top", 1, "--json")
    assert (code, err) == (0, "")
    best = json.loads(out)["results"][0]["answers"][0]["entity"]["name"]
    assert best.rpartition("/")[2].replace("_", " ") == PLACES["person 30"]


def test_a_relation_of_the_graph_is_its_own_examples_and_what_it_says_is_known(run, companies):
    words = ("ask", companies, "--relation", "located in", "--head", "company 3", "--json", "--top", 9)
    answers = json.loads(run(*words)[1])["results"][0]["answers"]
    assert {one["entity"]["name"] for one in answers} == {f"city {number}" for number in range(6)} - {"city 3"}
    marked = json.loads(run(*words, "--with-known")[1])["results"][0]["answers"]
    assert [one["entity"]["name"] for one in marked if one["is_known"]] == ["city 3"]
    code, out, err = run(*words[:-3], "--explain")
    assert (code, err) == (0, "")
    assert "company 3 — located in → ?" in out
    assert "linked by “located in”" not in out
    assert "located in → city" not in out.split("Why ")[1]


def test_a_wrong_name_of_a_relation_suggests_the_nearest(run, companies, places):
    code, _, err = run("ask", companies, "--relation", "locatd in", "--head", "company 3")
    assert (code, err.count("\n")) == (1, 1)
    assert "the graph has no relation 'locatd in' to take examples from; did you mean 'located in'?" in err
    _, _, err = run("ask", companies, "--relation", "xyz", "--head", "company 3")
    assert "it has works at, located in, knows" in err
    assert run("ask", companies, "--relation", "xyz", *places(2), "--head", "person 9")[0] == 0


def test_heads_are_asked_for_too(run, companies, places, tmp_path):
    words = (*places(6), "--relation", "lives in")
    code, out, err = run("ask", companies, *words, "--tail", "city 5", "--tail", "city 4", "--json", "--top", 12)
    assert (code, err) == (0, "")
    for result in json.loads(out)["results"]:
        found = [one["entity"]["name"] for one in result["answers"]]
        new = [name for name in found if name not in list(PLACES)[:6]]
        assert {PLACES[name] for name in new[:5]} == {result["tail"]["name"]}
    code, out, _ = run("ask", companies, *words, "--tail", "city 5", "--explain", "--top", 1)
    assert "? — lives in → city 5" in out
    assert "for city 5 (lives in)?" in out
    (tmp_path / "tails.txt").write_text("city 5\ncity 4\n")
    code, out, err = run("ask", companies, *words, "--tails", tmp_path / "tails.txt", "--out", tmp_path / "out.csv")
    assert (code, err) == (0, "")
    assert "2 tails asked about" in out
    assert "city 4" in (tmp_path / "out.csv").read_text()


def test_triples_are_added_and_removed_any_number_of_times(run, companies, places, tmp_path):
    files = {
        "one.tsv": "newcomer\tworks at\tnew company\n",
        "two.tsv": "new company\tlocated in\tcity 2\n",
        "three.tsv": f"person 30\tworks at\tcompany {30 * 7 % 60}\n",
        "four.tsv": "person 31\tknows\tperson 42\n",
    }
    for name, line in files.items():
        (tmp_path / name).write_text(line)
    added = ("--add", tmp_path / "one.tsv", "--add", tmp_path / "two.tsv")
    removed = ("--remove", tmp_path / "three.tsv", "--remove", tmp_path / "four.tsv")
    words = ("ask", companies, *places(5), "--head", "newcomer", "--head", "person 30", "--json", "--top", 1)
    code, out, err = run(*words, *added, *removed)
    assert (code, err) == (0, "")
    best, without = (one["answers"][0] for one in json.loads(out)["results"])
    assert best["entity"]["name"] == "city 2"
    assert without["score"] < best["score"]
    code, _, err = run(*words, *removed)
    assert "unknown entity 'newcomer'" in err
    code, _, err = run(*words, "--remove", tmp_path / "one.tsv")
    assert "the graph does not have the triple ('newcomer', 'works at', 'new company')" in err


def test_a_relation_keeps_its_label_when_triples_of_it_are_added(run, evidence_run, tmp_path):
    (tmp_path / "new.tsv").write_text("city/baku-az\ton_sea\tsea/caspian-sea\n")
    asked = (*EXAMPLES, "--head", "Baku", "--explain", "--add", tmp_path / "new.tsv")
    for source in (evidence_run, "atlas"):
        out = run("ask", source, *asked)[1]
        assert "lies on the" in out
        assert "on_sea" not in out


def test_columns_of_a_file_are_named_by_a_flag(run, companies, places):
    text = companies.read_text().replace("subject,predicate,object", "who,what,whom,when").replace("\n", ",1999\n")
    companies.write_text(text.replace("when,1999", "when"))
    words = ("ask", companies, *places(5), "--head", "person 30", "--top", 1)
    code, _, err = run(*words)
    assert code == 1
    assert "companies.csv:1" in err
    code, out, err = run(*words, "--columns", "who", "what", "whom")
    assert (code, err) == (0, "")
    assert PLACES["person 30"] in out


def test_a_run_has_a_method_of_its_own(run, evidence_run):
    code, _, err = run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--method", "linked")
    assert code == 1
    assert "a run has its own method and data" in err


def test_help_shows_a_file_a_relation_of_the_graph_which_heads_and_many_processes(run):
    out = run("ask", "--help")[1]
    assert out.count("tripleshot ask my-graph.tsv") == 4
    assert all(word in out for word in ("--relation borders", '--tail "Black Sea"', "--head Baku", "--workers 4"))
    assert not re.search(r"\b(task|split|shots)s?\b", out)


def test_literals_are_left_out_with_one_line_or_kept(run, tmp_path):
    path, words = tmp_path / "graph.ttl", ("--example", "ex:a | ex:b", "--head", "ex:c", "--candidates", "all")
    path.write_text("<ex:a> <ex:r> <ex:b> . <ex:c> <ex:r> <ex:d> . <ex:c> <ex:born> 1999 .")
    code, out, err = run("ask", path, *words)
    assert (code, err.count("\n")) == (0, 1)
    assert "literal skipped" in err
    assert "--literals keep" in err
    code, out, err = run("ask", path, *words, "--literals", "keep")
    assert (code, err) == (0, "")
    assert "1999" in out


def test_a_device_that_is_not_there_is_refused_whatever_answers(run, companies, places):
    code, _, err = run("ask", companies, *places(1), "--head", "person 9", "--device", "banana")
    assert code == 1
    assert "device 'banana' cannot be used here" in err


def test_a_score_is_never_a_zero_with_a_sign(capsys):
    scores = (-0.0004, -0.0, -0.0006)
    found = [Answer(rank, "Red Sea", "Red Sea", 0, score, None, False) for rank, score in enumerate(scores, start=1)]
    ranked = Ranked(np.arange(3), np.array(scores), None, np.zeros(3, dtype=bool), 3)
    console.print(_answers_table(found, ranked))
    out = capsys.readouterr().out
    assert "-0.000" not in out
    assert (out.count(" 0.000"), out.count("-0.001")) == (2, 1)


@pytest.fixture
def heads_file(tmp_path):
    path = tmp_path / "heads.parquet"
    pq.write_table(pa.table({"number": range(50), "head": list(PLACES)[10:]}), path)
    return path


def test_a_folder_has_the_answers_of_one_file_in_partitions_whatever_number_of_workers(
    run, companies, places, heads_file, tmp_path
):
    words = ("ask", companies, *places(5), "--heads", heads_file, "--top", 2, "--method", "evidence")
    assert run(*words, "--out", tmp_path / "one.parquet")[0] == 0
    code, out, err = run(*words, "--out", f"{tmp_path}/one/", "--partition-size", 20)
    assert (code, err) == (0, "")
    assert "50 heads asked about" in out
    code, out, err = run(*words, "--out", tmp_path / "two", "--partition-size", 20, "--workers", 2)
    assert (code, err) == (0, "")
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two")]
    assert files[0] == files[1]
    assert len(files[0]) == 4
    assert pq.read_table(tmp_path / "one").equals(pq.read_table(tmp_path / "one.parquet"))


def test_workers_without_a_folder_are_told_so(run, companies, places, heads_file, tmp_path):
    words = ("ask", companies, *places(5), "--heads", heads_file, "--workers", 2)
    code, _, err = run(*words)
    assert (code, err.count("\n")) == (1, 1)
    assert "several processes write to a folder: say which with --out answers/" in err
    code, _, err = run(*words, "--out", tmp_path / "answers.parquet")
    assert (code, err.count("\n")) == (1, 1)
    assert "answers in partitions are written to a folder, such as answers/" in err


def test_a_folder_with_answers_to_another_question_is_refused(run, companies, places, heads_file, tmp_path):
    words = ("ask", companies, "--heads", heads_file, "--out", f"{tmp_path}/answers/", "--method", "evidence")
    assert run(*words, *places(5))[0] == 0
    code, _, err = run(*words, *places(4))
    assert (code, err.count("\n")) == (1, 1)
    assert "has the answers to another question: other examples; choose another folder" in err


def test_ctrl_c_leaves_what_is_finished_and_the_same_command_goes_on(run, companies, places, heads_file, tmp_path):
    folder = tmp_path / "answers"
    words = ("ask", companies, *places(5), "--heads", heads_file, "--method", "evidence", "--partition-size", 10)
    words = [sys.executable, "-m", "tripleshot", *map(str, words), "--out", f"{folder}/", "--workers", "1"]
    asked = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while not [*folder.glob("part-*")]:
        assert asked.poll() is None
        time.sleep(0.01)
    asked.send_signal(signal.SIGINT)
    _, err = asked.communicate()
    assert err == "" if asked.returncode == 0 else f"stopped; what is finished is in {folder}/" in err
    assert run(*words[3:])[0] == 0
    assert len([*folder.glob("part-*")]) == 5
