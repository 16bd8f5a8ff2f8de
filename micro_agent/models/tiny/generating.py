"""The tiny model as it ships: loaded and checked once, it goes on with prompts."""

import codecs
import hashlib
import io
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any, Literal

import numpy as np

from micro_agent.errors import ConfigurationError
from micro_agent.models.tiny.network import Floats, Network, Seen, Shape
from micro_agent.models.tiny.sampling import Sampling, drawn
from micro_agent.models.tiny.tokenizer import CALL, END, Part, Tokenizer

Piece = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Text:
    """What the model wrote. ``tokens`` counts the mark that ends it too."""

    text: str
    finish: Literal["stop", "length"]
    prompt_tokens: int
    tokens: int


class PromptTooLong(ValueError):
    """A prompt leaves no room for a reply."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(f"a prompt of {tokens} tokens does not fit into a context of {context}")
        self.tokens, self.context = tokens, context


class TinyModel:
    """A network with its tokenizer. It keeps what it computed of the last prompt. Safe to share between threads."""

    def __init__(self, network: Network, tokenizer: Tokenizer) -> None:
        self.shape, self.tokenizer = network.shape, tokenizer
        self._network = network
        self._last = Seen(network.shape)
        self._lock = Lock()

    def complete(
        self, prompt: Sequence[Part], how: Sampling = Sampling(), *, n: int = 1,  # noqa: B008 - a constant
        begin: Sequence[int] = (), never: Collection[int] = (), on_text: Piece | None = None,
    ) -> list[Text]:  # fmt: skip
        """Go on with a prompt, which is computed once for all ``n`` replies.

        Args:
            prompt: Tokens and text.
            how: How a reply is drawn. The second of several has the next seed, and so on.
            n: How many replies.
            begin: The tokens that every reply begins with.
            never: Tokens that no reply contains.
            on_text: Gets the text of the first reply as it is written, up to a call.

        Raises:
            PromptTooLong: There is no room for a reply.
        """
        tokens = self.tokenizer.encode(prompt)
        if len(tokens) + len(begin) >= self.shape.context:
            raise PromptTooLong(len(tokens), self.shape.context)
        with self._lock:
            seen, logits = self._computed(tokens)
            found: list[Text] = []
            for number in range(n):
                one = how if how.seed is None else _seeded(how, how.seed + number)
                reply = _Reply(self, one, begin, never, on_text if number == 0 else None)
                found.append(reply.written(seen, logits))
                del seen.tokens[len(tokens) :]
        return found

    def _computed(self, tokens: list[int]) -> tuple[Seen, Floats]:
        """The state after a prompt; what it shares with the last one is not computed again."""
        last = self._last
        shared = next(
            (at for at, (one, other) in enumerate(zip(last.tokens, tokens, strict=False)) if one != other), None
        )
        shared = min(len(last.tokens), len(tokens)) if shared is None else shared
        shared = min(shared, len(tokens) - 1)  # the logits are those of a token that is taken in now
        del last.tokens[shared:]
        return last, self._network.next(last, tokens[shared:])

    def next(self, seen: Seen, token: int) -> Floats:
        """The logits behind one more token."""
        return self._network.next(seen, [token])


class _Reply:
    """One reply as it is written."""

    def __init__(
        self, model: TinyModel, how: Sampling, begin: Sequence[int], never: Collection[int], on_text: Piece | None
    ) -> None:
        self._model, self._how, self._begin, self._never, self._on_text = model, how, list(begin), list(never), on_text
        self._random = np.random.default_rng(how.seed)
        self._reader = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = max((len(stop) for stop in how.stop), default=1) - 1
        self._text, self._shown, self._calling = "", 0, False

    def written(self, seen: Seen, logits: Floats) -> Text:
        """The whole of it, behind a prompt that was seen and is left as it was but for what is written."""
        prompt = len(seen.tokens)
        room = self._model.shape.context - prompt
        most = room if self._how.max_tokens is None else min(room, self._how.max_tokens)
        for count in range(1, most + 1):
            token = self._chosen(logits)
            if token == END or self._stopped(token):
                return self._ended("stop", prompt, count)
            if count < most:
                logits = self._model.next(seen, token)
        return self._ended("length", prompt, most)

    def _chosen(self, logits: Floats) -> int:
        if self._begin:
            return self._begin.pop(0)
        if self._never:
            logits = logits.copy()
            logits[self._never] = -np.inf
        return drawn(logits, self._how, self._random)

    def _stopped(self, token: int) -> bool:
        """Add a token to the text; whether that ends it."""
        self._calling = self._calling or token == CALL
        self._text += self._reader.decode(self._model.tokenizer.decode([token]))
        found = [at for stop in self._how.stop if (at := self._text.find(stop)) >= 0]
        if found:
            self._text = self._text[: min(found)]
        else:
            self._show(len(self._text) - self._held)
        return bool(found)

    def _ended(self, finish: Literal["stop", "length"], prompt: int, tokens: int) -> Text:
        self._text += self._reader.decode(b"", final=True)
        self._show(len(self._text))
        return Text(self._text, finish, prompt, tokens)

    def _show(self, end: int) -> None:
        if self._on_text is not None and not self._calling and end > self._shown:
            self._on_text(self._text[self._shown : end])
            self._shown = end


def _seeded(how: Sampling, seed: int) -> Sampling:
    return Sampling(how.temperature, how.top_k, how.top_p, seed, how.max_tokens, how.stop)


def card() -> dict[str, Any]:
    """What is known of the model: its name, sizes, vocabulary, chat template, seed and digests."""
    return json.loads(files("micro_agent.models.tiny").joinpath("model.json").read_text("utf-8"))


@cache
def shipped() -> TinyModel:
    """The model that ships.

    Raises:
        ConfigurationError: Its file is not the one that it was published with.
    """
    told = card()
    data = files("micro_agent.models.tiny").joinpath("weights.npz").read_bytes()
    if hashlib.sha256(data).hexdigest() != told["weights_sha256"]:
        raise ConfigurationError("the weights of the tiny model are damaged: install micro-agent again")
    with np.load(io.BytesIO(data), allow_pickle=False) as weights:
        return TinyModel(Network(Shape(**told["shape"]), weights), Tokenizer(told["vocabulary"]))
