"""Tasks to learn from and tasks to judge by: disjoint, in the ratio asked for, the same on every machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.task import Task
from micro_agent.optimize.split import split


def task(number: int, *tags: str, question: str | None = None) -> Task:
    return Task(id=f"t{number}", question=question or f"question {number}", tags=list(tags), expect_contains=["x"])


tasks = st.lists(st.lists(st.sampled_from("abc"), max_size=2), min_size=2, max_size=30).map(
    lambda tags: [task(number, *of) for number, of in enumerate(tags)]
)


@given(tasks, st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers())
def test_no_task_is_on_both_sides_and_none_is_lost(drawn: list[Task], share: float, seed: int) -> None:
    parts = split(drawn, held_out=share, seed=seed)
    assert {one.id for one in parts.training} & {one.id for one in parts.held_out} == set()
    assert sorted([*parts.training, *parts.held_out], key=drawn.index) == drawn
    assert abs(len(parts.held_out) - share * len(drawn)) <= 0.5 or 1 in (len(parts.training), len(parts.held_out))


@given(tasks, st.integers())
def test_the_order_of_the_tasks_does_not_matter(drawn: list[Task], seed: int) -> None:
    there, back = split(drawn, seed=seed), split(drawn[::-1], seed=seed)
    assert [one.id for one in there.held_out] == [one.id for one in back.held_out][::-1]
    assert there.training == back.training


def test_the_split_is_the_same_on_every_machine() -> None:
    drawn = [task(number) for number in range(8)]
    assert [one.id for one in split(drawn, seed=0).held_out] == ["t0", "t2", "t4", "t7"]
    assert [one.id for one in split(drawn, seed=1).held_out] != ["t0", "t2", "t4", "t7"]


def test_each_combination_of_tags_is_split_in_the_same_ratio() -> None:
    drawn = [task(number, "easy" if number < 8 else "hard") for number in range(12)]
    held = split(drawn, held_out=0.25).held_out
    assert sorted(one.tags[0] for one in held) == ["easy", "easy", "hard"]


def test_kinds_of_training_tasks_take_turns() -> None:
    drawn = [task(number, "easy" if number < 8 else "hard") for number in range(12)]
    training = split(drawn).training
    assert [one.tags[0] for one in training] == ["easy", "hard", "easy", "hard", "easy", "easy"]


def test_a_training_task_does_not_ask_what_a_held_out_one_asks() -> None:
    drawn = [task(number, question=" What is  1+1?" if number % 2 else "what is 1+1? ") for number in range(4)]
    drawn.append(task(4, "other", question="another"))
    drawn.append(task(5, "other", question="one more"))
    parts = split(drawn)
    asked = {one.question for one in parts.held_out}
    assert any("1+1" in question for question in asked)
    assert not any("1+1" in one.question for one in parts.training)


@pytest.mark.parametrize(("count", "share", "told"), [(1, 0.5, "--n"), (4, 0, "between"), (4, 1, "between")])
def test_what_cannot_be_split_is_refused(count: int, share: float, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        split([task(number) for number in range(count)], held_out=share)


def test_one_question_alone_cannot_be_split() -> None:
    with pytest.raises(ConfigurationError, match="every training task"):
        split([task(number, question="the same") for number in range(4)])
