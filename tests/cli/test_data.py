import json

from indexes import everything_on_disk
from tripleshot.datasets.catalog import load_dataset


def test_own_triples_become_a_dataset_that_can_be_evaluated(run, triples, tmp_path):
    code, out, _ = run("data", "make", triples, tmp_path / "mine", "--types-from-names", "--num-test", 2)
    assert code == 0
    assert "tripleshot evaluate" in out
    code, out, _ = run(
        "evaluate", tmp_path / "mine", "--method", "linked", "--shots", 3, "--json", tmp_path / "out.json"
    )
    assert code == 0
    assert "micro (as published)" in out
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["method"] == "linked"
    assert document["dataset"] == "mine"
    assert len(document["relations"]) == 2


def test_train_tasks_are_held_out_for_a_choice_between_methods(run, tmp_path):
    code, out, _ = run("data", "hold-out", "atlas", tmp_path / "part", "--part", 2)
    atlas, part = load_dataset("atlas"), load_dataset(str(tmp_path / "part"))
    assert code == 0
    assert f"{len(part.test)} test tasks" in out
    assert [task.name for task in part.test] == [task.name for task in atlas.train[1::3]]
    run("evaluate", tmp_path / "part", "--method", "degree", "--shots", 5, "--json", tmp_path / "out.json")
    assert len(json.loads((tmp_path / "out.json").read_text())["relations"]) == len(part.test)


def test_the_nell_layout_can_be_written_and_read(run, triples, tmp_path):
    assert run("data", "make", triples, tmp_path / "nell", "--types-from-names", "--layout", "nell-one")[0] == 0
    assert {path.name for path in (tmp_path / "nell").iterdir()} >= {
        "path_graph",
        "rel2candidates.json",
        "e1rel_e2.json",
    }
    code, out, _ = run("data", "stats", tmp_path / "nell", "--json", tmp_path / "stats.json")
    assert code == 0
    assert "nell: dataset" in out
    assert json.loads((tmp_path / "stats.json").read_text())["tasks"] == {"train": 4, "valid": 1, "test": 1}


def test_types_and_labels_can_come_from_files(run, triples, tmp_path):
    names = [*(f"person:{i}" for i in range(65)), *(f"city:{i}" for i in range(9)), *(f"country:{i}" for i in range(3))]
    (tmp_path / "types.json").write_text(json.dumps({name: name.partition(":")[0] for name in names}))
    (tmp_path / "labels.tsv").write_text("r0\tlikes\nperson:0\tAnn\n")
    words = ("data", "make", triples, tmp_path / "mine", "--types", tmp_path / "types.json")
    assert run(*words, "--labels", tmp_path / "labels.tsv")[0] == 0
    page = json.loads((tmp_path / "mine" / "dataset.json").read_text())
    assert page["types"] == ["person", "city", "country"]
    assert "likes" in {task["label"] for task in page["tasks"]}


def test_two_sources_of_types_are_one_too_many(run, triples, tmp_path):
    code, _, err = run("data", "make", triples, tmp_path / "x", "--types-from-names", "--type-relation", "in")
    assert code == 1
    assert err == "error: give one source of types: --types-from-names, --type-relation or --types\n"


def test_an_existing_folder_is_safe(run, triples, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    code, _, err = run("data", "make", triples, tmp_path / "mine")
    assert code == 1
    assert "exists already" in err
    assert (tmp_path / "mine" / "precious").read_text() == "x"


def test_a_wrong_line_is_one_line_of_error_with_its_number(run, tmp_path):
    (tmp_path / "bad.tsv").write_text("a\tr\tb\na\tr\n")
    code, out, err = run("data", "stats", tmp_path / "bad.tsv")
    assert code == 1
    assert out == ""
    assert err.startswith(f"error: {tmp_path / 'bad.tsv'}:2: ")
    assert err.count("\n") == 1


def test_a_warning_is_one_line_too(run, triples, tmp_path):
    triples.write_text(triples.read_text() + triples.read_text().splitlines()[1] + "\n")
    code, _, err = run("data", "stats", triples)
    assert code == 0
    assert err.startswith(f"warning: {triples}:")
    assert "duplicate triple skipped" in err


def test_a_sound_dataset_passes_the_check_and_a_leaky_one_does_not(run, tmp_path, triples):
    assert run("data", "check", "atlas")[0] == 0
    run("data", "make", triples, tmp_path / "nell", "--layout", "nell-one")
    tasks = json.loads((tmp_path / "nell" / "test_tasks.json").read_text())
    with (tmp_path / "nell" / "path_graph").open("a") as file:
        file.writelines("\t".join((head, "copy", tail)) + "\n" for rows in tasks.values() for head, _, tail in rows)
    code, out, err = run("data", "check", tmp_path / "nell")
    assert code == 1
    assert "background relation 'copy' is a copy" in out
    assert "1 problem found" in err


def test_a_figure_is_drawn(run, tmp_path):
    assert run("data", "stats", "atlas", "--figure", tmp_path / "figure.png")[0] == 0
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_a_warning_names_the_flag_that_would_help(run, tmp_path):
    (tmp_path / "graph.nt").write_text('<a:a> <a:r> <a:b> .\n<a:a> <a:r> "text" .\n')
    assert "--literals keep makes entities of them" in run("data", "stats", tmp_path / "graph.nt")[2]


def test_indexes_are_listed_and_cleared(run, triples, tmp_path):
    with everything_on_disk() as folder:
        run("data", "make", triples, tmp_path / "mine", "--types-from-names", "--num-test", 2)
        run("data", "stats", tmp_path / "mine")
        code, out, _ = run("data", "indexes")
        assert code == 0
        assert "dataset" in out
        assert "adjacency" in out
        _, out, _ = run("data", "indexes", "--clear")
        assert "removed" in out
        assert list(folder.iterdir()) == []


def test_a_background_without_triples_is_a_problem(run, companies):
    code, out, err = run("data", "check", companies)
    assert code == 1
    assert "the background graph has no triple" in out
    assert "1 problem found" in err
