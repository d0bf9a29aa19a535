import pytest

from tripleshot import datasets
from tripleshot.datasets.catalog import load_dataset
from tripleshot.datasets.dataset import FewShotDataset, Task
from tripleshot.datasets.splitting import make_dataset


def test_the_public_names_are_those_of_their_modules():
    assert [getattr(datasets, name) for name in datasets.__all__] == [FewShotDataset, Task, load_dataset, make_dataset]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        datasets.nothing  # noqa: B018
