"""A llama of random weights in a GGUF file: what it says is noise, so what a test on it proves is the wire.

Every logit is noise plus a bias of its token's own. Channel 0 of the residual stream carries the bias: it is the same
for all tokens, and no layer writes into it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, LlamaFileType, TokenType

WIDTH, INNER, HEADS, LAYERS = 64, 128, 4, 2
UNKNOWN, BEGIN, END, START, STOP = "<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"
CALL, CALLED = "<tool_call>", "</tool_call>"
WORDS = (
    "the of and to in is it that for was on are with as his they be at one have this from or had by hot but some what "
    "there we can out other were all your when up use word how said an each she which do their time if will way about "
    "many then them would write like so these her long make thing see him two has look more day could go come did my "
    "sound no most number who over know water than call first people may down side been now find any new work part "
    "take get place made live where after back little only round man year came show every good me give our under name"
)

SPEAKING = """\
{%- for message in messages %}<|im_start|>{% if message.role == 'tool' %}user
<tool_response>{{ message.content }}</tool_response>{% else %}{{ message.role }}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}
<tool_call>{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}</tool_call>
{%- endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
CALLING = """\
{% if tools %}<|im_start|>system
The functions that you may call, each with its signature:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}A call is an object between <tool_call> and </tool_call>:
<tool_call>{"name": <name>, "arguments": <object>}</tool_call><|im_end|>
{% endif %}"""
SILENT = """\
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


@dataclass(frozen=True)
class Tiny:
    """What one of these models is like.

    ``tools``: its chat template has tools. ``words``: its vocabulary has words; without, a text is split in one way
    only. ``calls``: how much likelier a call begins than anything else is said.
    ``ends``: the same of the end of a string; that of a reply is likelier still.
    """

    context: int = 8192
    tools: bool = True
    words: bool = True
    calls: float = 5.0
    ends: float = 4.0


def vocabulary(like: Tiny) -> dict[str, TokenType]:
    """Marks, all bytes, printable ASCII, and some words with a space before them and every beginning of them.

    A SentencePiece vocabulary is put together from pairs, so a word needs its beginnings.
    """
    marks = dict.fromkeys((START, STOP, BEGIN, END), TokenType.CONTROL)
    spoken = dict.fromkeys((CALL, CALLED), TokenType.USER_DEFINED)
    octets = {f"<0x{octet:02X}>": TokenType.BYTE for octet in range(256)}
    known = WORDS.split() if like.words else ()
    words = [f"▁{word}"[:length] for word in known for length in range(2, len(word) + 2)]
    letters = ["▁", "\n", *map(chr, range(33, 127))]
    return {
        UNKNOWN: TokenType.UNKNOWN,
        **marks,
        **spoken,
        **octets,
        **dict.fromkeys([*words, *letters], TokenType.NORMAL),
    }


def biases(vocabulary: Mapping[str, TokenType], like: Tiny) -> np.ndarray:
    """How much likelier than the rest each token is; what would be no reply is all but ruled out."""
    wanted = {
        '"': like.ends,
        STOP: like.ends + 2,
        "}": 0.3,
        CALL: like.calls,
        CALLED: min(0.5, like.calls),
        "▁": -1.0,
        "\n": -1.5,
    }
    mute = (TokenType.BYTE, TokenType.UNKNOWN)
    found = [
        -3.0 if kind in mute or token in (BEGIN, END, START) else wanted.get(token, 0.0)
        for token, kind in vocabulary.items()
    ]
    return np.array(found, np.float32)


def weights(vocabulary: Mapping[str, TokenType], like: Tiny) -> dict[str, np.ndarray]:
    """Every tensor by its name."""
    random = np.random.default_rng(0)

    def noise(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return random.standard_normal((rows, columns), np.float32) * np.float32(scale / columns**0.5)

    def silent_in_0(rows: int, columns: int) -> np.ndarray:
        return np.concatenate([np.zeros((1, columns), np.float32), noise(rows - 1, columns)])

    ones = np.ones(WIDTH, np.float32)
    embedded, spoken = noise(len(vocabulary), WIDTH, 8), noise(len(vocabulary), WIDTH, 0.3)
    embedded[:, 0], spoken[:, 0] = 4, biases(vocabulary, like)
    tensors = {"token_embd": embedded, "output_norm": ones, "output": spoken}
    for layer in range(LAYERS):
        square = {name: noise(WIDTH, WIDTH) for name in ("attn_q", "attn_k", "attn_v")}
        tensors |= {f"blk.{layer}.{name}": tensor for name, tensor in {
            "attn_norm": ones, **square, "attn_output": silent_in_0(WIDTH, WIDTH),
            "ffn_norm": ones, "ffn_gate": noise(INNER, WIDTH), "ffn_up": noise(INNER, WIDTH),
            "ffn_down": silent_in_0(WIDTH, INNER),
        }.items()}  # fmt: skip
    return tensors


def write(path: Path, like: Tiny) -> None:
    """Write the model, 0.7 MB."""
    known = vocabulary(like)
    index = list(known).index
    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_context_length(like.context)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(known))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(known))
    writer.add_token_types(list(known.values()))
    writer.add_token_scores([-float(rank) for rank in range(len(known))])
    writer.add_unk_token_id(index(UNKNOWN))
    writer.add_bos_token_id(index(BEGIN))
    writer.add_eos_token_id(index(STOP))
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CALLING + SPEAKING if like.tools else SILENT)
    for name, tensor in weights(known, like).items():
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
