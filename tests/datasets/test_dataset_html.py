from dataclasses import replace

import numpy as np

from graphs import make_graph
from shown_html import HOSTILE, check_shown
from tripleshot.datasets.dataset import FewShotDataset, Task

GRAPH = make_graph([("Baku", "is in", "Azerbaijan"), ("Varna", "is in", "Bulgaria")])


def dataset(name="cities", num_train=8, task_name="lies on"):
    tasks = tuple(Task.of(f"{task_name} {number}", np.array([[0, 1], [2, 3]])) for number in range(num_train + 1))
    return FewShotDataset(name, GRAPH, tasks[:-1], (), tasks[-1:], ("one relation was left out",))


def test_a_dataset_shows_its_background_its_tasks_and_what_was_left_out():
    shown = check_shown(dataset().to_html())
    assert "4 entities, 1 relations, 2 triples" in shown.text
    assert "train816lies on 0, lies on 1" in shown.text
    assert "and 2 more" in shown.text
    assert "one relation was left out" in shown.text


def test_names_of_a_dataset_are_text():
    shown = check_shown(replace(dataset(HOSTILE[0], 1, HOSTILE[1]), notes=(HOSTILE[2],) * 12).to_html())
    for name in HOSTILE[:3]:
        assert name in shown.text
    assert "and 2 more notes" in shown.text
