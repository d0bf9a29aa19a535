"""A method of another package is one class and one entry point: it trains, is kept, and is found like any other."""

import subprocess
import sys
from os import environ, pathsep
from textwrap import dedent

import numpy as np
import pytest

from tripleshot.errors import InputError, InputWarning
from tripleshot.methods import find_method, find_methods, list_methods, plugins
from tripleshot.training.fit import train_run
from tripleshot.training.runs import load_config, load_run

TOY = """
    from dataclasses import dataclass

    import torch
    from torch import nn

    from tripleshot.datasets.episodes import EpisodeSampler
    from tripleshot.methods.losses import ranking_loss
    from tripleshot.methods.settings import TrainingSettings, count, setting
    from tripleshot.methods.trainable import TrainableMethod


    @dataclass(frozen=True)
    class ToySettings(TrainingSettings):
        num_queries: int = count(8, "queries per step")
        toy_margin: float = setting(1.0, "by which a true tail should be better than a wrong one")


    def tiny():
        return ToySettings(steps=5, warmup=0, validate_every=5)


    class Toy(TrainableMethod):
        \"\"\"Tails that were tails before, whatever is asked.\"\"\"

        Settings = ToySettings
        presets = {"fast": ToySettings, "tiny": tiny}

        def prepare(self, dataset, shots):
            self.dataset, self.graph, self.shots = dataset, dataset.graph, shots
            torch.manual_seed(self.settings.seed)
            self.module = nn.Embedding(dataset.graph.num_entities, 1).to(self.device)

        def stages(self):
            sampler = EpisodeSampler(self.dataset, self.shots, self.settings.num_queries)

            def losses(step, rng):
                episode = sampler.draw(rng)
                tails = (episode.queries[:, 1:], episode.negatives)
                true, wrong = (self.module(torch.from_numpy(ids)) for ids in tails)
                return {"ranking": ranking_loss(true, wrong, self.settings.toy_margin)}

            return [self.stage("toy", losses, bool(self.dataset.valid))]

        def score(self, support, head, tails):
            return self.module(torch.from_numpy(tails.astype("int64")))[:, 0].detach().numpy()

        def restore(self, dataset, weights):
            self.prepare(dataset, 0)
            weights.load_into(self.module)
"""
POINTS = {
    "toy": "toy_method:Toy",
    "broken": "broken_method:Broken",
    "hollow": "hollow_method:Hollow",
    "rscl": "toy_method:Toy",  # a name that is taken
}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder as pip would leave it: a package with a method that works, and two with methods that do not."""
    folder = tmp_path / "site-packages"
    information = folder / "toy_methods-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-methods\nVersion: 1.0\n")
    lines = "".join(f"{name} = {place}\n" for name, place in POINTS.items())
    (information / "entry_points.txt").write_text(f"[tripleshot.methods]\n{lines}")
    (folder / "toy_method.py").write_text(dedent(TOY))
    (folder / "broken_method.py").write_text("raise RuntimeError('no such device')\n")
    (folder / "hollow_method.py").write_text("class Hollow:\n    def score(self, support, head, tails): ...\n")
    monkeypatch.syspath_prepend(folder)
    plugins.cache_clear()
    yield folder
    plugins.cache_clear()
    sys.modules.pop("toy_method", None)


def question(dataset):
    task = dataset.test[0]
    return task.support(3), int(task.queries(3)[0, 0]), dataset.candidates(task)


def test_a_method_of_another_package_trains_and_is_loaded_again(tiny, tmp_path, site):
    settings = {"steps": 5, "warmup": 0, "validate_every": 5, "toy_margin": 2.0}
    trained = train_run("toy", tiny, 3, tmp_path / "run", settings=settings)
    loaded, config = load_run(tmp_path / "run", tiny)
    assert config.method == "toy"
    assert config.settings["toy_margin"] == 2.0
    np.testing.assert_array_equal(loaded.score(*question(tiny)), trained.score(*question(tiny)))


def test_it_has_presets_and_its_settings_are_checked_like_those_of_any_other(tiny, tmp_path, site):
    assert find_method("toy").preset("tiny").steps == 5
    with pytest.raises(InputError, match="toy has no setting 'toy_margn'; did you mean 'toy_margin'"):
        train_run("toy", tiny, 3, tmp_path / "run", settings={"toy_margn": 2.0})
    with pytest.raises(InputError, match="num_queries must be 1 or more"):
        train_run("toy", tiny, 3, tmp_path / "run", settings={"num_queries": 0})


def test_it_is_listed_and_a_name_that_is_taken_stays_what_it_was(site):
    assert list_methods()[-3:] == ["toy", "broken", "hollow"]
    assert list_methods().count("rscl") == 1
    assert find_method("toy").summary == "Tails that were tails before, whatever is asked."
    assert find_method("rscl").kind == "neural"


def test_a_method_that_cannot_be_imported_is_named_and_the_others_are_there(site):
    with pytest.raises(InputError, match=r"'broken' \(broken_method:Broken\) .* RuntimeError: no such device"):
        find_method("broken")
    with pytest.raises(InputError, match=r"'hollow' .* is no method: it has no prepare"):
        find_method("hollow")
    with pytest.warns(InputWarning, match="broken|hollow") as warned:
        found = find_methods()
    assert len(warned) == 2
    assert "toy" in found
    assert not {"broken", "hollow"} & set(found)


def test_the_command_line_lists_it_and_names_those_that_cannot_be_imported(run, site):
    code, printed, complained = run("methods")
    assert code == 0
    assert "Tails that were tails before, whatever is asked." in printed
    assert "broken_method:Broken" in complained


def test_its_settings_are_flags_of_the_command_line(tiny, tmp_path, site):
    tiny.save(tmp_path / "data")
    words = ["train", tmp_path / "data", tmp_path / "run", "--method", "toy", "--preset", "tiny", "--toy-margin", "3"]
    paths = {"PYTHONPATH": pathsep.join([str(site), environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "tripleshot", *map(str, words), "--shots", "3"]
    done = subprocess.run(command, env={**environ, **paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert load_config(tmp_path / "run").settings["toy_margin"] == 3.0
