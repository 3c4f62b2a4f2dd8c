"""Commands. Data goes to standard output, all else to standard error; exit 0 done, 1 input unreadable or a stated
condition not met, 2 usage or configuration."""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

from otel_ctxscore.core.errors import ConfigError

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
    try:
        group.main(standalone_mode=False, prog_name="otel-ctxscore")
    except click.exceptions.NoArgsIsHelpError as asked:
        _end(2, asked.format_message())
    except ConfigError as error:
        _end(2, *error.lines)
    except click.UsageError as error:
        _end(2, *_usage(error))
    except click.ClickException as error:
        _end(error.exit_code, error.format_message())
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is wrong, but nothing more can be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(0)


def _usage(error: click.UsageError) -> list[str]:
    lines = [f"otel-ctxscore: {error.format_message()}"]
    if error.ctx is not None:
        lines.append(f"Try `{error.ctx.command_path} --help`.")
    return lines


def _end(code: int, *lines: str) -> NoReturn:
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(code)
