"""Commands. Data goes to standard output, all else to standard error; exit 0 done, 1 input unreadable or a stated
condition not met, 2 usage or configuration, 130 interrupted."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

import click

from otel_ctxscore.cli.output import discard
from otel_ctxscore.core.errors import ConfigError, in_words, with_its_file

PROGRAM = "otel-ctxscore"
INTERRUPTED = 130
"""Exit code after Ctrl-C."""

COMMANDS = {
    "serve": "Run the service: receive traces, score them, serve metrics and the page.",
    "demo": "Show the main job on generated traffic: a retrieval regression is seen and alarmed.",
    "score": "Judge and score the traces in files, and print the scores.",
    "explain": "Print what was read where in each trace of files, and why not; or what became of a trace.",
    "calibrate": "Compare the judge with labels by people, and fit its probabilities to them.",
    "backfill": "Judge the past: a range of Kafka topics, or files, apart from the live service.",
    "replay-dead-letters": "Try dead letters again, and send what can be read now to the topic it came from.",
    "check": "Validate a configuration, and say what it would cost.",
    "runs": "List recent runs of a running service, the worst first.",
    "export": "Write recent runs of a running service, or their labels, as JSON lines or CSV.",
    "label": "Keep what people say of the runs of a running service.",
    "alarms": "List the alarms of a running service, or acknowledge one.",
    "anchors": "Keep labelled runs with their scores, and see by them whether the judge moved.",
    "baseline": "Pin the distribution of scores that drift is measured against.",
    "schema": "Print the JSON schema of the configuration.",
    "reference": "Print every key of the configuration with its default and meaning, as YAML.",
    "version": "Print the versions of otel-ctxscore and of what it runs on.",
}


class Commands(click.Group):
    """Loads a command's module when it is asked for, so that `version` does not import a server."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"otel_ctxscore.cli.{cmd_name.replace('-', '_')}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def group() -> None:
    """Score the retrieval quality of RAG systems in production from their OpenTelemetry traces.

    Start with `otel-ctxscore demo`. Then send your traces to `otel-ctxscore serve` by OTLP, or try
    `otel-ctxscore explain FILE` on an export of them.
    """


def main() -> NoReturn:
    """Run the command line and exit."""
    _prepare()
    code, lines = _run()
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(_written(code))


def _run() -> tuple[int, Sequence[str]]:
    """The exit code of the command, and what is to be said of it."""
    try:
        if f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE" in os.environ:
            group.main(standalone_mode=False, prog_name=PROGRAM)  # which completes words for a shell
        # Not group.main, which takes a reader that has gone away for a failure.
        with group.make_context(PROGRAM, sys.argv[1:]) as context:
            group.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code, []
    except click.exceptions.NoArgsIsHelpError as asked:
        return 2, [asked.format_message()]
    except ConfigError as error:
        return 2, error.lines
    except click.UsageError as error:
        return 2, _usage(error)
    except click.ClickException as error:
        return error.exit_code, [error.format_message()]
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED, []
    except BrokenPipeError:
        return 0, []  # see _written
    except OSError as error:  # a disk that is full, a file that went away
        return 1, [f"otel-ctxscore: {with_its_file(error)}"]
    except SystemExit as end:
        return int(end.code or 0), []
    return 0, []


def _prepare() -> None:
    """Let a character that the terminal cannot show be no fault, write files and pipes in UTF-8 whatever the locale is,
    and let Ctrl-C break off a read that is waited for: asyncio would only note it down."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_: int, __: object) -> NoReturn:
    raise KeyboardInterrupt


def _written(code: int) -> int:
    """The exit code, once all output is written. That its reader has gone away (`| head`) is nobody's fault."""
    try:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
        return code
    except BrokenPipeError:
        discard()
        return 0
    except OSError as error:
        discard()
        print(f"otel-ctxscore: standard output: {in_words(error)}", file=sys.stderr)
        return 1


def _usage(error: click.UsageError) -> list[str]:
    lines = [f"otel-ctxscore: {error.format_message()}"]
    if error.ctx is not None:
        lines.append(f"Try `{error.ctx.command_path} --help`.")
    return lines
