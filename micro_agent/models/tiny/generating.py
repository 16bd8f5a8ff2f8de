"""The tiny model as it ships: loaded and checked once, it goes on with prompts."""

import codecs
import hashlib
import io
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import inf
from threading import Lock
from time import monotonic
from typing import Any, Literal

import numpy as np

from micro_agent.errors import ConfigurationError
from micro_agent.models.tiny.network import Floats, Network, Seen, Shape
from micro_agent.models.tiny.sampling import Sampling, drawn
from micro_agent.models.tiny.tokenizer import CALL, END, Part, Tokenizer


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
    """A network with its tokenizer, and what it saw last. Safe to share between threads, which it serves in turn."""

    def __init__(self, network: Network, tokenizer: Tokenizer) -> None:
        self.shape, self.tokenizer = network.shape, tokenizer
        self._network = network
        self._seen = Seen(network.shape)
        self._lock = Lock()

    def complete(
        self, prompt: Sequence[Part], how: Sampling, *, begin: Sequence[int] = (), never: Collection[int] = (),
        on_text: Callable[[str], object] | None = None, until: float | None = None,
    ) -> Text:  # fmt: skip
        """Go on with a prompt. What it shares with the one before, and the reply to that, is not computed again.

        Args:
            prompt: Tokens and text.
            how: How the reply is drawn.
            begin: The tokens that it begins with.
            never: Tokens that it does not contain.
            on_text: Gets its text as it is written, up to a call.
            until: The instant, of `time.monotonic`, at which it is given up.

        Raises:
            PromptTooLong: There is no room for a reply.
            TimeoutError: It was given up.
        """
        tokens = self.tokenizer.encode(prompt)
        if len(tokens) + len(begin) >= self.shape.context:
            raise PromptTooLong(len(tokens), self.shape.context)
        with self._lock:
            logits = self._computed(tokens)
            return _Reply(self, how, begin, never, on_text, until).written(self._seen, logits)

    def _computed(self, tokens: list[int]) -> Floats:
        """The logits behind a prompt."""
        seen, most = self._seen, len(tokens) - 1  # the last is taken in now, whatever was seen
        pairs = enumerate(zip(seen.tokens, tokens[:most], strict=False))
        shared = next((at for at, (one, other) in pairs if one != other), min(len(seen.tokens), most))
        del seen.tokens[shared:]
        return self._network.next(seen, tokens[shared:])

    def next(self, seen: Seen, token: int) -> Floats:
        """The logits behind one more token."""
        return self._network.next(seen, [token])


class _Reply:
    """One reply as it is written."""

    def __init__(
        self, model: TinyModel, how: Sampling, begin: Sequence[int], never: Collection[int],
        on_text: Callable[[str], object] | None, until: float | None,
    ) -> None:  # fmt: skip
        self._model, self._how, self._begin, self._never = model, how, list(begin), list(never)
        self._on_text, self._until = on_text, inf if until is None else until
        self._random = np.random.default_rng(how.seed)
        self._reader = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = max((len(stop) for stop in how.stop), default=1) - 1
        self._text, self._shown, self._calling = "", 0, False

    def written(self, seen: Seen, logits: Floats) -> Text:
        """The whole of it, behind a prompt that was seen."""
        prompt = len(seen.tokens)
        room = self._model.shape.context - prompt
        most = room if self._how.max_tokens is None else min(room, self._how.max_tokens)
        for count in range(1, most + 1):
            if monotonic() >= self._until:
                raise TimeoutError
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
