from tripleshot.answering.steps import Steps, finish, in_one_step


def test_work_is_put_down_after_each_step_and_taken_up_again():
    done = []

    def work() -> Steps[str]:
        for number in range(3):
            done.append(number)
            yield
        return "end"

    steps = work()
    next(steps)
    assert done == [0]
    assert finish(steps) == "end"
    assert done == [0, 1, 2]


def test_work_in_one_step_begins_when_it_is_first_taken_up():
    done = []
    steps = in_one_step(lambda: done.append(1) or "end")
    assert done == []
    assert finish(steps) == "end"
