import json
import warnings

import numpy as np

from tripleshot.answering.loading import load
from tripleshot.answering.models import train
from tripleshot.training.runs import CONFIG


def test_a_run_of_a_methods_former_name_loads_with_one_line_that_says_so(tiny, tmp_path):
    model = train("evidence-net", tiny, shots=3, preset="tiny", folder=tmp_path / "run")
    path = tmp_path / "run" / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), "method": "rscl+"}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = load(tmp_path / "run")
    assert [str(warning.message) for warning in caught] == [
        f"{tmp_path / 'run'}: was trained as rscl+, which is now called evidence-net"
    ]
    assert again.name == "evidence-net"
    support, tails = tiny.test[0].support(3), np.arange(tiny.graph.num_entities)
    np.testing.assert_array_equal(again.score(support, 5, tails), model.score(support, 5, tails))
