"""The dialects of tool calls that have markup of their own, one small module each.

A module has one public function::

    def read(source: Source) -> Decision | None

It looks for its own markup and nothing else, and returns

- ``None`` when the text is not in this dialect; also when the markup is there and what it holds is another dialect's
  (``<tool_call>`` holds JSON, XML or arguments by key, depending on the model). Markup that no reader understood is
  an error in the end: `micro_agent.decoding.text` sees to that, a dialect need not;
- else what `markup.shared.decided` makes of the shapes that it found.

Where the calls in the markup are JSON, `markup.blocks.read_json` is the whole reader: a dialect is then two patterns.

In order of reading: the first decision counts, so a marker that is a prefix of another one comes later, and what has
no special token (ReAct, names on a line of their own) comes last.
"""

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.dialects import (
    apertus,
    argument_blocks,
    argument_pairs,
    chatglm,
    code,
    command_line,
    command_r,
    deepseek,
    dspy_fields,
    fenced,
    flags,
    functionary,
    functionary_v2,
    gemma,
    gigachat,
    granite,
    harmony,
    hermes,
    hyperclova,
    inkling,
    internlm,
    kimi,
    llama,
    mistral,
    named,
    narrated,
    phi,
    programs,
    python_lines,
    pythonic,
    react,
    tag_lines,
    xml_elements,
    xml_parameters,
)
from micro_agent.decoding.source import Reader, Source


def _tagged(read: Reader) -> Reader:
    """The reader of a dialect whose markup holds a ``<`` somewhere: most text has none, and then it is not asked."""

    def read_tagged(source: Source) -> Decision | None:
        return read(source) if "<" in source.text else None

    return read_tagged


READERS: tuple[Reader, ...] = (
    chatglm.read,
    harmony.read,
    _tagged(deepseek.read),
    _tagged(kimi.read),
    flags.read,
    mistral.read,
    gemma.read,
    command_r.read,
    _tagged(gigachat.read),
    _tagged(internlm.read),
    _tagged(apertus.read),
    hyperclova.read,
    _tagged(inkling.read),
    _tagged(functionary_v2.read),
    functionary.read,
    _tagged(xml_parameters.read),
    _tagged(argument_pairs.read),
    _tagged(xml_elements.read),
    _tagged(tag_lines.read),
    _tagged(granite.read),
    phi.read,
    _tagged(llama.read),
    pythonic.read,
    code.read,
    _tagged(hermes.read),
    argument_blocks.read,
    fenced.read,
    narrated.read,
    dspy_fields.read,
    python_lines.read,
    react.read,
    named.read,
    command_line.read,
    programs.read,
)
