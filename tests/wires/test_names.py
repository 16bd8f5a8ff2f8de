"""Names without dots, and no two the same."""

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.wires.names import undotted

NAMES = st.text("ab._", min_size=1, max_size=4) | st.text("ab._", min_size=62, max_size=64)


def test_only_names_with_dots_get_another():
    assert undotted(["files.read", "web-search", "add"]) == {"files.read": "files_read"}


def test_a_form_that_is_another_tool_s_name_is_not_taken():
    assert undotted(["a.b", "a_b", "a._b", "a_.b"]) == {"a.b": "a_b_2", "a._b": "a__b", "a_.b": "a__b_2"}


@given(st.lists(NAMES, unique=True, max_size=12))
def test_forms_are_legal_and_unique(names: list[str]):
    renamed = undotted(names)
    forms = [renamed.get(name, name) for name in names]
    assert all("." not in form and len(form) <= 64 for form in forms)
    assert len(set(forms)) == len(forms)
