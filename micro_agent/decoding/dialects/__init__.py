"""The dialects of tool calls that have markup of their own, one small module each.

A module has one public function::

    def read(source: Source) -> Decision | None

It looks for its own markup and nothing else, and returns

- ``None`` when the text is not in this dialect; also when the markup is there and what it holds is another dialect's
  (``<tool_call>`` holds JSON, XML or arguments by key, depending on the model). Markup that no reader understood is
  an error in the end: `micro_agent.decoding.text` sees to that, a dialect need not;
- else what `markup.decided` makes of the shapes that it found.

Where the calls in the markup are JSON, `blocks.read_json` is the whole reader: a dialect is then two patterns.

In order of reading: the first decision counts, so a marker that is a prefix of another one comes later, and what has
no special token (ReAct, names on a line of their own) comes last.
"""

from micro_agent.decoding.dialects import (
    apertus,
    argument_pairs,
    code,
    command_line,
    command_r,
    deepseek,
    dspy_fields,
    fenced,
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
    python_lines,
    pythonic,
    react,
    tag_lines,
    xml_elements,
    xml_parameters,
)
from micro_agent.decoding.source import Reader

READERS: tuple[Reader, ...] = (
    harmony.read,
    deepseek.read,
    kimi.read,
    mistral.read,
    gemma.read,
    command_r.read,
    gigachat.read,
    internlm.read,
    apertus.read,
    hyperclova.read,
    inkling.read,
    functionary_v2.read,
    functionary.read,
    xml_parameters.read,
    argument_pairs.read,
    xml_elements.read,
    tag_lines.read,
    granite.read,
    phi.read,
    llama.read,
    pythonic.read,
    code.read,
    hermes.read,
    fenced.read,
    narrated.read,
    dspy_fields.read,
    python_lines.read,
    react.read,
    named.read,
    command_line.read,
)
