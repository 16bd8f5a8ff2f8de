# pyright: reportUnknownMemberType=false
"""What ships, and the same for llama.cpp.

``python -m training.export out.gguf`` writes the model that ships as a GGUF file of 32-bit floats, so that a server
computes with the very numbers of the package.
"""

import hashlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter, LlamaFileType, TokenType
from numpy.typing import NDArray

from micro_agent.models.tiny.generating import card
from micro_agent.models.tiny.network import EPSILON, ROPE_BASE, Shape
from micro_agent.models.tiny.template import JINJA
from micro_agent.models.tiny.tokenizer import BEGIN, BYTES, CALL, CALLED, END, MARKS, START, UNKNOWN

NAME = "errands-1m"
LICENCE = "MIT"
HOME = Path(__file__).resolve().parents[1] / "micro_agent" / "models" / "tiny"


def shipped(weights: Mapping[str, NDArray[Any]], shape: Shape, vocabulary: Sequence[str], **more: Any) -> None:
    """Write the weights, in 16-bit floats, and what is known of them into the package."""
    data = io.BytesIO()
    np.savez(data, **{name: value.astype(np.float16) for name, value in weights.items()})  # pyright: ignore[reportArgumentType]
    (HOME / "weights.npz").write_bytes(data.getvalue())
    told = {
        "name": NAME, "licence": LICENCE, "parameters": sum(value.size for value in weights.values()),
        "shape": asdict(shape), "weights_sha256": hashlib.sha256(data.getvalue()).hexdigest(), **more,
        "chat_template": JINJA, "vocabulary": list(vocabulary),
    }  # fmt: skip
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in told.items()]
    (HOME / "model.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def gguf(path: Path) -> None:
    """Write the model that ships as a file for llama.cpp (its ``llama`` architecture and tokenizer)."""
    told = card()
    shape, vocabulary = Shape(**told["shape"]), told["vocabulary"]
    kinds = [TokenType.NORMAL] * len(vocabulary)
    for mark in (BEGIN, START, END):
        kinds[mark] = TokenType.CONTROL
    kinds[UNKNOWN], kinds[CALL], kinds[CALLED] = TokenType.UNKNOWN, TokenType.USER_DEFINED, TokenType.USER_DEFINED
    kinds[len(MARKS) : len(MARKS) + len(BYTES)] = [TokenType.BYTE] * len(BYTES)
    writer = GGUFWriter(path, "llama")
    writer.add_name(told["name"])
    writer.add_license(told["licence"])
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.inner)
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(vocabulary)
    writer.add_token_scores([-float(rank) for rank in range(len(vocabulary))])
    writer.add_token_types(kinds)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(told["chat_template"])
    with files("micro_agent.models.tiny").joinpath("weights.npz").open("rb") as file, np.load(file) as weights:
        for name, value in weights.items():
            writer.add_tensor(f"{name}.weight", value.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    gguf(Path(sys.argv[1]))
