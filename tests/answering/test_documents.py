import json

import pytest

from tripleshot.answering.documents import explanation_document
from tripleshot.answering.explaining import explain
from tripleshot.answering.text import signed
from tripleshot.methods.evidence.evidence_net import EvidenceNet


def test_the_document_has_the_reasons_of_the_text_in_its_order_with_its_numbers(tiny):
    method, task = EvidenceNet(), tiny.test[0]
    method.prepare(tiny, 3)
    explanation = explain(method, task.support(3), *task.queries(3)[0].tolist())
    document = json.loads(json.dumps(explanation_document(explanation)))
    told = [f"  {signed(one['weight'])}  {one['text']}" for one in document["reasons"] if one["is_main"]]
    assert told == [line for line in document["text"].splitlines() if line.startswith(("  +", "  −"))]
    assert document["summary"] == document["text"].splitlines()[1]
    assert sum(one["weight"] for one in document["reasons"]) == pytest.approx(document["score"], abs=1e-5)
    drawn = [path for one in document["reasons"] for path in one["paths"]]
    assert drawn
    for path in drawn:
        assert len(path["entities"]) == len(path["relations"]) + 1
        assert path["entities"][0] == document["head"]
        assert path["entities"][-1] == document["tail"]


def test_remarks_are_the_last_lines_of_the_text(tiny):
    method, task = EvidenceNet(), tiny.test[0]
    method.prepare(tiny, 3)
    document = explanation_document(explain(method, task.support(3), *task.queries(3)[0].tolist(), asked_side="tail"))
    lines = document["text"].splitlines()
    assert document["asked"] == "tail"
    assert lines[len(lines) - len(document["remarks"]) :] == document["remarks"]
