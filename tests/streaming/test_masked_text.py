"""Text that goes out in pieces shows no secret, however it is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent, configure_lm
from micro_agent.files.masking import Mask, mask_of
from micro_agent.run import Mode
from micro_agent.streaming import AnswerText, Ended
from micro_agent.streaming.masked_text import MaskedFile, MaskedText
from micro_agent.testing import ModelServer, final, text

KEY = "sk-canary-0123456789"
ENVIRON = {"A_KEY": KEY, "LONGER_KEY": f"{KEY}-and-more", "OTHER_SECRET": "sk-other-secret"}


def said(mask: Mask, *pieces: str) -> list[str]:
    """What is handed on, piece by piece; the last is what the end gave."""
    out: list[str] = []
    text = MaskedText(out.append, mask)
    for piece in pieces:
        text.feed(piece)
    text.finish()
    return out


def test_text_is_held_back_no_longer_than_it_may_be_a_secret() -> None:
    mask = mask_of(ENVIRON)
    assert said(mask, "It is", " s", "ka", "te.") == ["It i", "s ", "ska", "te."]
    assert said(mask, "a sk-canary", "-0123456789", "-and-more!") == ["a ", "[env:LONGER_KEY]!"]
    assert said(mask, f"a {KEY}", "-and-then") == ["a ", "[env:A_KEY]-and-then"]
    assert said(mask, f"a {KEY}") == ["a ", "[env:A_KEY]"]
    assert said(mask, "ends with sk") == ["ends with ", "sk"]
    assert said(mask_of({}), "ends with sk", "") == ["ends with sk"]


@given(
    st.lists(st.text("ab", min_size=8, max_size=10), max_size=3), st.text("ab", max_size=40),
    st.lists(st.integers(0, 60), max_size=20),
)  # fmt: skip
def test_pieces_together_are_the_whole_masked(secrets: list[str], around: str, cuts: list[int]) -> None:
    mask = mask_of({f"{number}_SECRET": secret for number, secret in enumerate(secrets)})
    whole = around[:20] + "".join(secrets[:1]) + around[20:]
    ends = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    assert "".join(said(mask, *(whole[a:b] for a, b in pairwise(ends)))) == mask.text(whole)


def test_a_file_gets_no_secret() -> None:
    out: list[str] = []

    class Out:
        write = staticmethod(out.append)

    file = MaskedFile(Out(), mask_of(ENVIRON))  # pyright: ignore[reportArgumentType]
    with file:
        assert file.write("a sk-canary") == 11
        print("-0123456789 s", end="", file=file)
    file.close()
    assert "".join(out) == "a [env:A_KEY] s"


@pytest.mark.parametrize("padding", range(0, 40, 5))
@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_streamed_answer_shows_no_secret_and_the_run_is_real(padding: int, mode: Mode) -> None:
    answer = f"{'-' * padding}The key is {KEY}, keep it: {KEY[:7]}"  # each padding cuts the six pieces elsewhere
    with ModelServer([text(answer) if mode == "native" else final(answer)]) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, KEY, fallback=False)
        events = list(MicroAgent(tools=[], lm=lm, mode=mode, rules=[]).stream("Which key?"))
    pieces = [event.text for event in events if isinstance(event, AnswerText)]
    assert len(pieces) > 2
    assert "".join(pieces) == mask_of().text(answer)
    assert KEY not in "".join(pieces)
    assert isinstance(events[-1], Ended)
    assert events[-1].run.answer == answer
