"""Files of tasks in three formats: what is read, what is refused and in which words, and what is drawn."""

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import draw, load_tasks
from micro_agent.evaluation.task import Task

YAML = """
version: 1
tasks:
- id: sum
  question: What is 2+3?
  tags: [arithmetic, one-step]
  expect_number: 5
  expect_tools: calculator
- id: pi
  question: |
    What is pi,
    roughly?
  expect_number: {value: 3.14, tolerance: 0.01}
  expect_contains: [about, roughly]
  expect_tools: []
"""
JSONL = """
{"id": "sum", "question": "What is 2+3?", "tags": ["arithmetic", "one-step"], "expect_number": 5, "expect_tools": "calculator"}

{"id": "pi", "question": "What is pi,\\nroughly?\\n", "expect_number": {"value": 3.14, "tolerance": 0.01}, "expect_contains": ["about", "roughly"], "expect_tools": [], "note": null, "tags": null}
"""  # noqa: E501
CSV = """
id, question, tags, expect_number, expect_contains, expect_tools, note
sum, What is 2+3?, arithmetic | one-step, 5, , calculator
,,,,,,
pi,"What is pi,
roughly?
","","{""value"": 3.14, ""tolerance"": 0.01}","[""about"", ""roughly""]",[],
"""
TASKS = [
    Task.model_validate({
        "id": "sum", "question": "What is 2+3?", "tags": ["arithmetic", "one-step"], "expect_number": {"value": 5},
        "expect_tools": ["calculator"],
    }),
    Task.model_validate({
        "id": "pi", "question": "What is pi,\nroughly?\n", "expect_number": {"value": 3.14, "tolerance": 0.01},
        "expect_contains": ["about", "roughly"], "expect_tools": [],
    }),
]  # fmt: skip
FORMATS = {"tasks.yaml": YAML, "tasks.yml": YAML, "tasks.jsonl": JSONL, "tasks.csv": CSV, "TASKS.CSV": CSV}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fault(path: Path) -> str:
    """The one line that says what is wrong, after the name of the file."""
    with pytest.raises(ConfigurationError) as caught:
        load_tasks(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text.replace(str(path), "FILE")


@pytest.mark.parametrize(("name", "content"), FORMATS.items(), ids=FORMATS)
def test_the_three_formats_say_the_same(name: str, content: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, content)
    dataset = load_tasks(path)
    assert dataset.tasks == TASKS
    assert dataset.path == str(path)
    assert dataset.sha256 == sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(("name", "content"), FORMATS.items(), ids=FORMATS)
def test_a_byte_order_mark_and_the_line_ends_of_windows_are_read(name: str, content: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode())
    questions = [task.question.replace("\r\n", "\n") for task in load_tasks(path).tasks]
    assert questions == [task.question for task in TASKS]


def test_a_bare_list_of_tasks_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "tasks.yaml", "- {id: a, question: Who?, expect_contains: me}\n")
    assert [task.expect_contains for task in load_tasks(str(path)).tasks] == [["me"]]


def test_a_task_without_an_id_has_one_of_its_question_wherever_it_stands(tmp_path: Path) -> None:
    sums = ["- {question: What is 2+3?, expect_number: 5}\n", "- {id: ~, question: What is 2+4?, expect_number: 6}\n"]
    one, other = (load_tasks(written(tmp_path, "t.yaml", "".join(lines))).tasks for lines in (sums, sums[::-1]))
    assert [task.id for task in one] == [task.id for task in reversed(other)]
    assert len({task.id for task in one}) == 2
    csv = load_tasks(written(tmp_path, "t.csv", "question,expect_number\nWhat is 2+3?,5\n")).tasks
    assert csv == one[:1]


def test_text_without_quotes_is_the_text_that_stands_there(tmp_path: Path) -> None:
    content = """
- id: 007
  question: yes
  tags: [on, 2026-01-31]
  expect_contains: [12:30, 0o17, 1_000, 1e3, 16, 'null', no]
  expect_number: 010
  note: 2026-01-31
- {id: b, question: "~", expect_regex: 1.5, expect_number: 1e3, tags: ~, note: }
"""
    first, second = load_tasks(written(tmp_path, "tasks.yaml", content)).tasks
    assert (first.id, first.question, first.tags, first.note) == ("007", "yes", ["on", "2026-01-31"], "2026-01-31")
    assert first.expect_contains == ["12:30", "0o17", "1_000", "1e3", "16", "null", "no"]
    assert first.expect_number is not None
    assert first.expect_number.value == 10
    assert (second.question, second.expect_regex, second.tags, second.note) == ("~", "1.5", [], None)
    assert second.expect_number is not None
    assert second.expect_number.value == 1000


@pytest.mark.parametrize("name", ["tasks.yaml", "tasks.jsonl", "tasks.csv"])
def test_long_integers_stay_exact(name: str, tmp_path: Path) -> None:
    content = {
        "tasks.yaml": f"- {{id: a, question: q, expect_number: {2**64}}}",
        "tasks.jsonl": f'{{"id": "a", "question": "q", "expect_number": {2**64}}}\n',
        "tasks.csv": f"id,question,expect_number\na,q,{2**64}\n",
    }[name]
    (task,) = load_tasks(written(tmp_path, name, content)).tasks
    assert task.expect_number is not None
    assert task.expect_number.value == 2**64


def test_an_alias_stands_for_what_it_names(tmp_path: Path) -> None:
    content = (
        "- {id: a, question: q, tags: &t [x, &y y], expect_regex: *y}\n- {id: b, question: q, tags: *t, expect_key: k}"
    )
    first, second = load_tasks(written(tmp_path, "tasks.yaml", content)).tasks
    assert (first.tags, first.expect_regex, second.tags) == (["x", "y"], "y", ["x", "y"])


START = "- {id: a, question: q, "
YAML_FAULTS = {
    START + "expect_contian: x}": "FILE: line 1, task a: 'expect_contian' is not a field; did you mean expect_contains",
    START + "expectations: x}": "did you mean",
    START + "zzz: x, expect_key: k}": "'zzz' is not a field; there are id, question, tags,",
    START
    + "expect_number: ten}": "task a: expect_number: must be a number such as 16, or {value: 3.14, tolerance: 0.01}"
    ", not 'ten'",
    START + "expect_number: 12:30}": "not '12:30'",
    START + "expect_number: 0x10}": "not '0x10'",
    START + "expect_number: yes}": "not 'yes'",
    START + "expect_number: .nan}": "not '.nan'",
    START + f"expect_number: {'9' * 5000}}}": f"not '{'9' * 40}'…",
    START + "expect_number: [1]}": "expect_number: must be a number such as 16",
    START
    + "expect_number: {value: 1, tolerence: 2}}": "expect_number: 'tolerence' is not a field; did you mean tolerance?",
    START
    + "expect_number: {value: 1, tolerance: -2}}": "expect_number.tolerance: must be a number from 0 on, not '-2'",
    START + "expect_number: {tolerance: 2}}": "expect_number.value: is missing; write it",
    START + "expect_contains: []}": "expect_contains: is an empty list; write what is expected, or leave the field out",
    START + "expect_contains: [' ']}": "expect_contains: is blank; write it, or leave the field out",
    START + "expect_contains: {b: c}}": "expect_contains: must be a text, or a list of texts",
    START + "expect_contains: [{b: c}]}": "expect_contains: must be text; put it in quotes",
    START + "expect_regex: ''}": "expect_regex: is empty; write it",
    START + "expect_regex: '('}": "expect_regex is not a regular expression: missing )",
    START
    + "expect_regex: 'a{99999999999}'}": "expect_regex is not a regular expression: the repetition number is too large",
    START + "tags: a b, expect_key: k}": "tags: a tag begins with a letter or digit",
    START + "tags: {}, expect_key: k}": "tags: must be a text, or a list of texts",
    START + "note: only}": "task a: nothing is expected of it; give one of expect_contains, expect_number,",
    "- {question: q, expect_key: k}\n- {question: q, expect_key: j}": "id: line 1 has it already; give each task",
    "- {expect_key: k}": "question: is missing; write it",
    "- {id: a b, question: q, expect_key: k}": "id: must begin with a letter or digit and have at most 100",
    "- {id: a, question: ' ', expect_key: k}": "task a: question: is blank",
    "- {id: [a], question: q, expect_key: k}": "FILE: line 1: id: must be text; put it in quotes",
    '- {id: "\\e[31m", question: q, expect_key: k}': r"FILE: line 1: id: must begin with a letter or digit and have at "
    r"most 100 letters, digits and . _ -, not '\x1b[31m'",
    START
    + "expect_key: k}\n\n"
    + START
    + "expect_key: k}": "line 3, task a: id: line 1 has it already; give each task",
    "- q": "FILE: task 1: a task is written as fields and values, such as id and question",
    "": "FILE: there is no task in it; write at least one",
    "tasks:": "there is no task in it",
    "tasks: []": "there is no task in it",
    "tasks: q": "FILE: must be a list of tasks, or {version: 1, tasks: [...]}",
    "q": "must be a list of tasks",
    "task: []": "FILE: line 1: 'task' is not a field; did you mean tasks?",
    "version: 2\ntasks: []": "FILE: version '2' is not known; write version: 1 or update micro-agent",
    "version: [2]\ntasks: []": "version ['2'] is not known",
    "--- []\n--- []": "FILE: line 2: a second document begins; make them one",
    "- id: a\n  id: b": "FILE: line 2: the key 'id' stands there twice",
    "- ? [a]\n  : b": "line 1: a key must be text",
    "- !!python/name:os.system x": "line 1: a tag ('tag:yaml.org,2002:python/name:os.system') is not read",
    "&a [*a]": "line 1: the alias *a stands before the end of what it names",
    "[" * 100_000: "line 1: nested too deeply",
    "- " * 100_000: "line 1: nested too deeply",
    "- {id: a": "not YAML: did not find expected ',' or '}'",
    "- \0": "FILE: not YAML: unacceptable character #x0000: ",
    "- 'it": "not YAML: found unexpected end of stream",
}


@pytest.mark.parametrize(("content", "says"), YAML_FAULTS.items(), ids=[text[:60] for text in YAML_FAULTS])
def test_what_is_wrong_in_yaml_is_said(content: str, says: str, tmp_path: Path) -> None:
    assert says in fault(written(tmp_path, "tasks.yaml", content))


def test_aliases_cannot_make_much_of_a_little(tmp_path: Path) -> None:
    levels = "\n".join(f"  k{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 10))
    content = f"- id: bomb\n  k0: &a0 [lol]\n{levels}\n"
    assert "line 7: aliases repeat more than 100000 values; write them out" in fault(
        written(tmp_path, "bomb.yaml", content)
    )


OTHER_FAULTS = {
    (
        "tasks.jsonl",
        '{"id": 7, "question": "q", "expect_contains": 16}',
    ): "FILE: line 1: id: must be text; put it in quotes"
    ", not 7; line 1: expect_contains: must be a text, or a list of texts, not 16",
    (
        "tasks.jsonl",
        '{"id": "a", "question": "q", "expect_number": true}',
    ): "expect_number: must be a number such as 16,",
    (
        "tasks.jsonl",
        '{"id": "a", "question": "q", "expect_number": NaN}',
    ): "expect_number: must be a number such as 16,",
    ("tasks.jsonl", '{"id": "a", "question": "\\ud800", "expect_key": "k"}'): "line 1, task a: question: ",
    ("tasks.jsonl", "\n[1]\n"): "FILE: line 2: not readable: a JSON list, not an object",
    ("tasks.jsonl", '{"id": "a"'): "FILE: line 1: cut off while it was written",
    ("tasks.jsonl", ""): "there is no task in it",
    (
        "tasks.csv",
        "id;question\na;b",
    ): "FILE: line 1: 'id;question' is not a column; did you mean question? Columns are separated by commas.",
    ("tasks.csv", "id,question,expect\na,b,c"): "line 1: 'expect' is not a column; did you mean expect_",
    ("tasks.csv", "\nid,question,id"): "line 2: the column id stands there twice",
    ("tasks.csv", "id,question\n\na,b,c\n"): "FILE: line 3: 3 cells where the header names 2; put cells with commas in",
    ("tasks.csv", 'id,question,note\na,"b\nc",\nd,"e,f\n'): "FILE: line 4: not CSV: unexpected end of data",
    ("tasks.csv", "id,question,expect_number\na,b,{1}"): "FILE: line 2: expect_number: begins like JSON and is not",
    ("tasks.csv", 'id,question,tags\na,b,"[""x"""'): "FILE: line 2: tags: begins like JSON and is not",
    ("tasks.csv", "id,question,tags,expect_key\na,b,x||y,k"): "tags: a tag begins with a letter or digit",
    ("tasks.csv", 'id,question,expect_number\na,b,"1,000"'): "expect_number: must be a number such as 16,",
    ("tasks.csv", "id,question"): "there is no task in it",
    ("tasks.csv", ""): "there is no task in it",
    ("tasks.csv", b"id\xff"): "FILE: not UTF-8 (byte 2); save it as UTF-8",
    ("tasks.yaml", b"\xff\xfe-\0"): "FILE: not UTF-8 (byte 0); save it as UTF-8",
    ("tasks.json", "[]"): "FILE: tasks are read from .yaml, .jsonl and .csv files, not from '.json'",
    ("tasks", ""): "not from ''",
}


@pytest.mark.parametrize(("file", "says"), OTHER_FAULTS.items(), ids=[f"{n}-{t[:50]!r}" for n, t in OTHER_FAULTS])
def test_what_is_wrong_in_other_files_is_said(file: tuple[str, str | bytes], says: str, tmp_path: Path) -> None:
    assert says in fault(written(tmp_path, *file))


def test_of_many_faults_the_first_are_said_and_the_rest_are_counted(tmp_path: Path) -> None:
    text = fault(written(tmp_path, "tasks.csv", "id,question\n" + "a b,\n" * 40))
    assert text.count("line 2") == 2
    assert "line 4, task a b: id: must" in text
    assert text.endswith("; and 75 more faults")


def test_files_that_cannot_be_read_are_said_without_hanging(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.yaml").mkdir()
    assert "cannot read FILE: No such file or directory; check the path" in fault(tmp_path / "none.yaml")
    assert "cannot read FILE: not a regular file" in fault(tmp_path / "pipe.csv")
    assert "cannot read FILE" in fault(tmp_path / "folder.yaml")


@pytest.mark.parametrize(
    ("name", "says"), [("a.yaml", "16 MB; split it; JSONL may be larger"), ("a.csv", "256 MB; split it")]
)
def test_a_huge_file_is_refused_before_it_is_read(name: str, says: str, tmp_path: Path) -> None:
    with open(tmp_path / name, "wb") as file:
        file.truncate(300_000_000)  # sparse: it takes no space
    assert says in fault(tmp_path / name)


WORDS = st.sampled_from([
    "id", "question", "expect_number", "expect_contains", "tags", ": ", "- ", "\n", "\n  ", "{", "}", "[", "]", '"',
    "'", ",", "|", "&a ", "*a", "!!int ", "? ", "<<", "~", "12:30", "a", "=", "%", "#", "\t", "\r\n", "null",
    "version", "tasks",
])  # fmt: skip
GARBAGE = st.one_of(
    st.lists(WORDS, max_size=40).map("".join), st.text(max_size=60), st.binary(max_size=60),
    st.lists(WORDS, max_size=40).map(lambda words: "id,question,expect_contains,tags\n" + "".join(words)),
    st.dictionaries(
        st.sampled_from(["id", "question", "tags", "expect_number", "expect_tools", "expect_regex", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5
        ),
    ).map(lambda data: json.dumps(data) + "\n"),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(name=st.sampled_from(["a.yaml", "a.jsonl", "a.csv"]), content=GARBAGE)
def test_garbage_is_a_fault_of_one_line(name: str, content: str | bytes, tmp_path: Path) -> None:
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    path = written(tmp_path, name, raw)
    assert outcome(path) == "tasks" or (outcome(path).startswith(str(path)) and len(outcome(path).splitlines()) == 1)


def outcome(path: Path) -> str:
    """``tasks``, or what is wrong; anything but a `ConfigurationError` fails the test."""
    try:
        return "tasks" if load_tasks(path).tasks else "none"
    except ConfigurationError as error:
        return str(error)


MANY = [Task(id=f"t{i}", question="q", tags=["even" if i % 2 == 0 else "odd"], expect_tools=[]) for i in range(50)]


@given(n=st.integers(1, 50), seed=st.integers())
def test_a_sample_repeats_nothing_and_keeps_the_order(n: int, seed: int) -> None:
    drawn = draw(MANY, n, seed)
    places = [MANY.index(task) for task in drawn]
    assert len(drawn) == n
    assert places == sorted(set(places))
    assert drawn == draw(MANY, n, seed)


def test_the_sample_of_a_seed_never_changes() -> None:
    assert [task.id for task in draw(MANY, 5, 1)] == ["t27", "t37", "t38", "t43", "t47"]
    assert [task.id for task in draw(MANY, 5, 2)] != [task.id for task in draw(MANY, 5, 1)]


def test_every_task_can_be_drawn() -> None:
    assert {task.id for seed in range(40) for task in draw(MANY, 10, seed)} == {task.id for task in MANY}


def test_a_sample_does_not_depend_on_the_order_of_the_file() -> None:
    assert {task.id for task in draw(MANY[::-1], 5, 1)} == {"t27", "t37", "t38", "t43", "t47"}


def test_all_tasks_are_drawn_when_no_number_is_given() -> None:
    assert draw(MANY) == MANY
    assert draw(MANY, len(MANY), 9) == MANY


def test_tags_choose_the_tasks_that_have_one_of_them() -> None:
    assert draw(MANY, tags=["odd"]) == MANY[1::2]
    assert draw(MANY, tags=["odd", "even"]) == MANY
    assert {task.tags[0] for task in draw(MANY, 25, 4, ["even"])} == {"even"}


@pytest.mark.parametrize(
    ("n", "tags", "says"),
    [
        (51, [], "there are 50 tasks: draw from 1 to 50 of them, not 51"),
        (0, [], "draw from 1 to 50 of them, not 0"),
        (26, ["odd"], "there are 25 tasks with the tags odd: draw from 1 to 25 of them, not 26"),
        (1, ["prime"], "no task has the tag 'prime'; there are even, odd"),
    ],
)
def test_what_cannot_be_drawn_is_said(n: int, tags: list[str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        draw(MANY, n, tags=tags)


def test_a_tag_of_tasks_without_tags_is_said() -> None:
    with pytest.raises(ConfigurationError, match="no task has the tag 'x'; there are none"):
        draw([Task(id="a", question="q", expect_tools=[])], tags=["x"])
