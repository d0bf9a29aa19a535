from tripleshot.answering import answer
from tripleshot.methods import make_method


def test_answers_are_ranked_and_explained(tiny):
    task = tiny.task("works in")
    method = make_method("evidence")
    method.fit(tiny, 3)
    head = int(task.queries(3)[0, 0])
    found = answer(method, tiny.graph, task.support(3), head, top=3)
    assert [one.rank for one in found] == [1, 2, 3]
    assert found[0].label == "city:3"
    assert found[0].score >= found[1].score >= found[2].score
    assert "lives in" in found[0].reasons[0].text


def test_what_the_examples_already_say_is_not_an_answer(tiny):
    task = tiny.task("works in")
    method = make_method("degree")
    method.fit(tiny, 3)
    head, tail = task.support(3)[0].tolist()
    found = answer(method, tiny.graph, task.support(3), head)
    assert tail not in {one.entity for one in found}
    assert len(found) == 3
