"""`micro-agent chat`: the same agent as that of `ask`, over turns."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.agent_options import AgentOptions, Made, taking
from micro_agent.cli.messages import is_terminal, print_text, say
from micro_agent.cli.options import option
from micro_agent.cli.spans import seen
from micro_agent.cli.waiting import sign_of_life

if TYPE_CHECKING:
    from micro_agent.cli.chat_turns import Chat
    from micro_agent.run import Run
    from micro_agent.streaming import StreamEvent
    from micro_agent.traces import TraceStore

COMMANDS = {
    "/help": "these commands",
    "/tools": "the tools that the model may call",
    "/history": "the turns so far",
    "/undo": "take the last turn back",
    "/retry": "ask the last question again",
    "/save FILE": "write the conversation to a file (/save! replaces one)",
    "/load FILE": "go on with a conversation that was saved",
    "/quit": "leave, as Ctrl-D does",
}
_NAMES = [command.split()[0] for command in COMMANDS]
_CUT = "The context is full: earlier turns are cut from here on, the oldest to a line each. /history has them all."


@taking
def chat(
    run_id: Annotated[
        str | None, typer.Argument(metavar="ID", show_default=False, help="With --resume: the run to go on after.")
    ] = None,
    *,
    resume: Annotated[
        bool,
        option("--resume", env="MICRO_AGENT_RESUME", help="Go on with the latest run's conversation, or ID's."),
    ] = False,
    options: AgentOptions,
) -> None:
    """Talk with the model; it calls tools as needed. Each turn is a run on record."""
    from micro_agent.errors import ConfigurationError

    if run_id is not None and not resume:
        raise ConfigurationError(f"to go on with a conversation: micro-agent chat --resume {run_id}")
    made = options.made(after=partial(_resumed, named=run_id) if resume else None)
    from micro_agent.cli.chat_turns import Chat

    terminal = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    with seen(options.phoenix):
        Talk(made, Chat(made.agent, made.store, made.after), terminal).run()


def _resumed(store: "TraceStore", named: str | None) -> "Run":
    """The run that a conversation goes on from: the one that was written last, ended or not, or the one that is named.

    Raises:
        RunNotFound: There is none.
        RunBusy: It is under way in another process.
    """
    from micro_agent.cli.run_ids import run_id_of
    from micro_agent.errors import RunBusy, RunNotFound

    found = named and named != "last" and run_id_of(store, named)
    if not found:
        latest = [ident for ids in (store.ids(), store.open_ids()) if (ident := next(ids, None)) is not None]
        if not latest:
            raise RunNotFound(f"there is no run in {store.directory} to go on from")
        found = max(latest, key=store.written)
    try:
        run = store.peek(found)
    except RunNotFound:
        return store.load(found)
    if any(one.id == found and one.busy for one in store.open_runs()):
        raise RunBusy(f"run {found} is under way in another process")
    return run


@dataclass
class Talk:
    """A chat at a terminal, or over a pipe."""

    made: Made
    chat: "Chat"
    terminal: bool
    code: int = 0

    def run(self) -> None:
        """Until the person leaves, or standard input ends. Exits with the code of the last turn."""
        from micro_agent.cli import chat_input

        read = chat_input.typed(self.made.store.state_dir, _NAMES) if self.terminal else chat_input.piped()
        if self.terminal:
            say(f"{self.made.lm.model}, {len(self.made.tools)} tools. /help lists the commands, Ctrl-D leaves.")
        for line in self.chat.lines():
            say(line)
        if self.chat.waits:
            say("The last turn was not finished.")
            self._go_on()
        while (message := read()) is not None:
            if message.strip() and not self._taken(message.strip()):
                break
        if self.chat.run is not None:
            say(f"Go on with: micro-agent chat --resume {self.chat.run.id}{self.made.again}")
        raise typer.Exit(self.code)

    def _taken(self, message: str) -> bool:
        """Do what was typed. Returns whether the chat goes on."""
        from micro_agent.errors import MicroAgentError

        if message == "/quit":
            return False
        try:
            if message.startswith("/") and not message.startswith("//"):
                for line in self._command(*message.split(maxsplit=1)):
                    say(line)
            elif not self.chat.waits or self._go_on():
                asked = message.removeprefix("/") if message.startswith("//") else message
                self._turn(partial(self.chat.ask, asked))
        except MicroAgentError as error:
            say(f"micro-agent: {error}")
            self.code = self.code if self.terminal else 1  # a person reads it; a script does not
        return True

    def _command(self, name: str, said: str = "") -> Iterator[str]:
        match name:
            case "/help":
                yield from (f"{command:12} {told}" for command, told in COMMANDS.items())
                yield "Enter sends. Alt+Enter, or a backslash before Enter, begins a new line. // sends a /."
            case "/tools":
                yield from map(_described, self.made.tools)
            case "/history":
                yield from self.chat.lines() if self.chat.turns else ["There is no turn yet."]
            case "/undo":
                yield f"Taken back: {self.chat.undo().question}"
            case "/retry":
                self._turn(self.chat.retry)
            case "/save" | "/save!" if said:
                yield f"Saved: {self.chat.save(said, replace=name.endswith('!'))}"
            case "/load" if said:
                self.chat.load(said)
                yield from self.chat.lines()
            case "/save" | "/save!" | "/load":
                yield f"{name} wants a file: {name} FILE"
            case _:
                near = get_close_matches(name, _NAMES, 1)
                yield f"{name} is not a command; {f'did you mean {near[0]}? ' if near else ''}/help lists them."

    def _go_on(self) -> bool:
        """Finish the last turn. Returns whether it has ended."""
        self._turn(self.chat.go_on)
        return not self.chat.waits

    def _turn(self, work: "Callable[..., Run]") -> None:
        """Do one turn and show it. Ctrl-C ends the turn and not the chat; SIGTERM ends both."""
        import signal

        from micro_agent.cancel import Cancel, RunInterrupted
        from micro_agent.cli import outcome
        from micro_agent.cli.stopping import stopping

        cancel = Cancel()
        with stopping(cancel.interrupt) as got, sign_of_life():
            try:
                run = work(on_event=self._listener(), cancel=cancel)
            except RunInterrupted as interrupted:
                run = interrupted.run
        if not self.terminal and run.answer is not None:
            print_text(run.answer)
        outcome.say_unanswered(run, self.made.again)
        self.code = outcome.CODES[run.status]
        if signal.SIGTERM in got:
            raise typer.Exit(128 + signal.SIGTERM)

    def _listener(self) -> "Callable[[StreamEvent], None]":
        """What shows a turn as it comes: all of it on a terminal, else what is cut alone."""
        from micro_agent.cli.outcome import Printer
        from micro_agent.run import CONTEXT_TRIMMED
        from micro_agent.streaming import StepTaken, WithoutText

        printer = Printer() if self.terminal else None

        def heard(event: "StreamEvent") -> None:
            if isinstance(event, StepTaken) and event.step.tool == CONTEXT_TRIMMED:
                say(f"{event.step.tool} {_CUT}")
            elif printer is not None:
                printer(event)

        return heard if self.terminal else WithoutText(heard)


def _described(tool: "object") -> str:
    name, description = getattr(tool, "name", ""), getattr(tool, "description", "")
    asks = " (asks first)" if getattr(tool, "requires_confirmation", False) else ""
    return f"{name}{asks}: {description.strip().partition(chr(10))[0]}"
