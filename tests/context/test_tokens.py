# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The estimate against real vocabularies: those that LiteLLM, which is installed with us, has in its folder."""

import base64
import json
import random
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding
from tiktoken.load import load_tiktoken_bpe

from micro_agent.context import estimate
from tests.each import each

ROOT = Path(__file__).parents[2]
_chance = random.Random(5)
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _vocabulary(file: str, digits: str) -> Encoding:
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    ranks = load_tiktoken_bpe(str(Path(spec.origin).parent / "litellm_core_utils" / "tokenizers" / file))
    pattern = _WORDS.replace("DIGITS", digits)
    return Encoding(file[:8] + digits, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


CL100K, O200K = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "fb374d419588a4632f3f557e76b4b70aebbca790"


@pytest.fixture(scope="module")
def vocabularies() -> dict[str, Encoding]:
    """Llama 3 and Qwen 2.5 grew out of cl100k; Qwen, like Mistral and Gemma, gives each digit a token."""
    return {
        "Llama 3": _vocabulary(CL100K, r"\p{N}{1,3}"),
        "Qwen 2.5": _vocabulary(CL100K, r"\p{N}"),
        "gpt-oss": _vocabulary(O200K, r"\p{N}{1,3}"),
    }


def _rows(make: Callable[[int], str], count: int = 60) -> str:
    return "\n".join(map(make, range(count)))


def _hex(size: int) -> str:
    return _chance.randbytes(size).hex()


TEXTS = {
    "prose": re.sub(r"```.*?```", "", (ROOT / "docs" / "evals.md").read_text(encoding="utf-8"), flags=re.DOTALL),
    "code": (ROOT / "micro_agent" / "running" / "session.py").read_text(encoding="utf-8"),
    "JSON": json.dumps([{"id": n, "name": f"item {n}", "ok": True, "price": n * 1.5} for n in range(50)]),
    "indented JSON": json.dumps([{"id": n, "tags": ["a", "bb"], "price": n / 7} for n in range(50)], indent=2),
    "quoted JSON": json.dumps(json.dumps([{"id": n, "name": f"item {n}"} for n in range(50)])),
    "table": _rows(lambda n: ",".join(f"{_chance.random() * 1000:.3f}" for _ in range(6))),
    "digits": "".join(_chance.choices("0123456789", k=2000)),
    "base64": base64.b64encode(_chance.randbytes(1500)).decode(),
    "hex": _hex(1000),
    "HEX": _hex(1000).upper(),
    "ids": _rows(lambda n: str(UUID(bytes=_chance.randbytes(16)))),
    "log": _rows(lambda n: f"2026-11-21T08:{n:02}:07.{n}Z INFO [worker-{n}] request {_hex(8)} took {n * 7} ms"),
    "links": _rows(lambda n: f"https://example.org/{_hex(4)}/page?id={n * 37}&q={_hex(3)}#top"),
    "shouting": "THE RESULTS OF THE STUDY WERE DISCUSSED AT LENGTH WITHOUT ANY DECISION. " * 30,
    "single letters": "a b c d\n" * 300,
    "tabs": "x\t1\ty\t2\n" * 200,
    "signs": "".join(_chance.choices("!#$%&()*+,-./:;<=>?@[]^_{|}~", k=1500)),
    "emoji": "".join(chr(_chance.randint(0x1F300, 0x1F64F)) for _ in range(300)) + "👩‍👩‍👧‍👦🏳️‍🌈👍🏽" * 20,
    "boxes": "┌──┬──┐\n│ a│ b│\n└──┴──┘\n" * 40,
    "German": "Zuständigkeitsbereiche der überarbeiteten Ausführung wurden größenmäßig außerdem neu geregelt. " * 20,
    "French": "L'été dernier, nous avons découvert près d'Évreux une forêt très ancienne et étrange. " * 20,
    "Polish": "Wszyscy chętnie pójdziemy na spacer, jeżeli przestanie padać śnieg. Zażółć gęślą jaźń. " * 20,
    "Turkish": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. " * 20,
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. " * 20,
    "Russian": "Все люди рождаются свободными и равными в своём достоинстве и правах. " * 20,
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. " * 20,
    "Arabic": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. " * 20,
    "Hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. " * 20,
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है। " * 20,
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ " * 20,
    "Chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。" * 20,
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。" * 20,
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. " * 20,
}


@each("kind", TEXTS)
def test_no_vocabulary_needs_more_than_estimated(kind: str, vocabularies: dict[str, Encoding]) -> None:
    needed = {name: len(one.encode_ordinary(TEXTS[kind])) for name, one in vocabularies.items()}
    assert estimate(TEXTS[kind]) >= max(needed.values()), needed


@pytest.mark.parametrize("kind", ["prose", "code", "JSON", "log", "German", "Chinese", "Russian", "base64"])
def test_the_estimate_wastes_no_more_than_half_of_a_context(kind: str, vocabularies: dict[str, Encoding]) -> None:
    needed = max(len(one.encode_ordinary(TEXTS[kind])) for one in vocabularies.values())
    assert estimate(TEXTS[kind]) <= 2 * needed


@given(st.text(st.characters(), max_size=300))
def test_any_text_has_an_estimate_that_grows_with_it(anything: str) -> None:
    once = estimate(anything)
    assert 1 <= once <= 4 * len(anything) + 1
    assert estimate(anything * 2) >= once
