"""`micro-agent ask`: a question in, an answer out, the run on record."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from micro_agent.cli.agent_options import AgentOptions, taking
from micro_agent.cli.image import WITH_IMAGES, read_image
from micro_agent.cli.messages import is_terminal
from micro_agent.cli.options import Json, option
from micro_agent.cli.question import question_of
from micro_agent.cli.spans import seen
from micro_agent.cli.waiting import sign_of_life

ENVIRONMENT = (
    "Environment: MICRO_AGENT_ and the option's name in capitals, or LLM_PROVIDER, USE_TOOL_CALLS, LLM_FALLBACK, "
    "TRACES_DIR, TOOLS_MODULES, MAX_TOKENS, SAMPLES, OLLAMA_THINK. Models and servers: OPENAI_API_KEY, OPENAI_MODEL, "
    "OPENAI_BASE_URL, OLLAMA_HOST, OLLAMA_MODEL, LITELLM_MODEL. Put a question that begins with a dash after --. "
    "Piped text is attached to the question."
)


@taking
def ask(
    context: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(metavar="QUESTION|-", show_default=False, help="The question; - reads it from a pipe."),
    ] = None,
    question: Annotated[
        str | None, option(metavar="Q", env="MICRO_AGENT_QUESTION", help="The question, as an option.")
    ] = None,
    *,
    image: Annotated[
        list[Path] | None,
        option("--image", metavar="FILE", env="MICRO_AGENT_IMAGE", help="An image to ask about; repeatable."),
    ] = None,
    options: AgentOptions,
    as_json: Json = False,
    stream: Annotated[bool, option("--stream", env="MICRO_AGENT_STREAM", help="Print text as it arrives.")] = False,
) -> None:
    """Ask a question; the model calls tools as needed."""
    # A question on the command line goes before one in the environment.
    source = context.get_parameter_source("question")
    asked = question_of(text, None if text is not None and source and source.name == "ENVIRONMENT" else question)
    context.with_resource(seen(options.phoenix))
    context.with_resource(sign_of_life(wanted=not as_json))
    images = [read_image(path) for path in image or ()]
    made = options.made(signature=WITH_IMAGES if images else None)
    from micro_agent.cli import outcome

    shown: dict[str, Any] = {"images": images} if images else {}
    live = stream and not as_json
    on_event = outcome.Printer() if live else None
    on_step = outcome.print_step if is_terminal(sys.stderr) and not live else None
    outcome.report(
        lambda cancel: made.agent.ask(asked, on_event=on_event, on_step=on_step, cancel=cancel, **shown),
        made.store, as_json=as_json, streamed=live, again=made.again,
    )  # fmt: skip
