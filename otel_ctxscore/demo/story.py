"""The course of the demo: start, healthy traffic, a fault, the alarm, and what it points to."""

from __future__ import annotations

import asyncio
import json
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otel_ctxscore import config as configuration
from otel_ctxscore.demo.knowledge import FAULTY, truth
from otel_ctxscore.demo.traffic import INDEX, SERVICE, Traffic
from otel_ctxscore.io.otlp_grpc import OtlpGrpc
from otel_ctxscore.monitoring import AlarmRecord, Pace
from otel_ctxscore.service import Service
from otel_ctxscore.testing import Call, ScriptedJudgeServer
from otel_ctxscore.web.status import Standing

RATE = 12.0
"""Turns a second."""
PACE = Pace(tick=0.1, traces=150, days=6)
"""A tenth of a second stands for an hour, and a reference is learned from fewer runs and days than in production."""
PRICE = {"input": 0.15, "output": 0.6}
"""US dollars for a million tokens of the scripted model: the order of a small model's, so that a cost is shown."""
LINE_SECONDS = 2.0
EXPLAINED = 240
"""Characters of an explanation that are shown."""
Say = Callable[[str], None]


@dataclass(slots=True)
class Instance:
    """One running service of the demo, by the judge it has."""

    judge: str
    service: Service
    scores: Path
    task: asyncio.Task[None] | None = None

    @property
    def endpoint(self) -> str:
        """Where it takes OTLP over gRPC."""
        ports = [source.port for source in self.service.sources if isinstance(source, OtlpGrpc)]
        return f"http://127.0.0.1:{ports[0]}"

    @property
    def standings(self) -> list[Standing]:
        """The series that have an alarm."""
        return [row for row in self.service.snapshot().standings if row.alarm is not None]

    @property
    def alarms(self) -> list[AlarmRecord]:
        """The alarms that rose, the first one first."""
        return list(reversed(self.service.alarms()))

    @property
    def learned(self) -> bool:
        rows = self.standings
        return bool(rows) and all(row.alarm is not None and row.alarm.state != "no reference" for row in rows)

    def told(self, alarm: AlarmRecord) -> str:
        """An alarm as one short name."""
        return f"{alarm.scorer} ({self.judge})"


@dataclass(slots=True)
class Outcome:
    """What came of it. Seconds since the start; None where it did not happen."""

    fault_at: float | None = None
    alarm_at: float | None = None
    alarms: list[str] = field(default_factory=list)

    @property
    def seen(self) -> bool:
        """The alarm came, and came after the fault."""
        return self.fault_at is not None and self.alarm_at is not None and self.alarm_at > self.fault_at


async def play(seconds: float, say: Say, *, keep: bool = False) -> Outcome:
    """Run the demo for at most so long; with `keep` the services stay up until cancelled."""
    with (
        tempfile.TemporaryDirectory(prefix="otel-ctxscore-demo-") as folder,
        ScriptedJudgeServer(answer=_answer, keep=0) as server,
    ):
        async with AsyncExitStack() as stack:
            instances = [
                await _started(stack, "local", Path(folder), {"type": "local"}),
                await _started(stack, "llm", Path(folder), _llm(server)),
            ]
            _introduce(instances, server, say)
            outcome = await _watch(instances, seconds, say)
            _tell(outcome, instances, say)
            if keep:
                say("\nStill up, with traffic stopped; end it with Ctrl-C.")
                await asyncio.Event().wait()
        return outcome


def _answer(call: Call) -> dict[str, Any]:
    return truth(call.query, call.contexts, call.response)


def _llm(server: ScriptedJudgeServer) -> dict[str, Any]:
    model = "openai/scripted-judge"
    section = {"type": "litellm", "model": model, "api_base": server.url, "api_key": "none"}
    return {**section, "prices": {model: PRICE}}


async def _started(stack: AsyncExitStack, judge: str, folder: Path, section: dict[str, Any]) -> Instance:
    scores = folder / f"{judge}.jsonl"
    config = configuration.parse(
        {
            "sources": {"otlp": {"grpc": "127.0.0.1:0", "http": None}},
            "judge": section,
            "segments": {"index": INDEX},
            "assembly": {"quiet_period": "500ms", "late_window": "2s"},
            "sinks": {"jsonl": {"path": str(scores)}},
            "content": {"emit": True},
            "admin": {"listen": "127.0.0.1:0"},
            "state": {"path": str(folder / judge)},
            "shutdown": {"grace": "5s"},
        }
    )
    service = Service(config, pace=PACE)
    ready = asyncio.Event()
    instance = Instance(judge, service, scores)
    instance.task = asyncio.create_task(service.run(lambda _: ready.set()))
    stack.push_async_callback(_stopped, instance)
    done, _ = await asyncio.wait(
        [instance.task, waiting := asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED
    )
    waiting.cancel()
    if instance.task in done:
        await instance.task
    return instance


async def _stopped(instance: Instance) -> None:
    instance.service.stop()
    if instance.task is not None:
        await instance.task


def _introduce(instances: list[Instance], server: ScriptedJudgeServer, say: Say) -> None:
    say(f"An assistant, {SERVICE!r}, answers questions from passages that it retrieves. Its traces go by OTLP to two")
    say("instances of otel-ctxscore:")
    say(f"  local judge   {instances[0].service.admin.url}   (built in: no key, no network)")
    say(f"  LLM judge     {instances[1].service.admin.url}   (litellm -> {server.url}; this model is a script that")
    say("                knows the right answers, so that no key is needed here)")
    say("They need one reference mean each before they can alarm. That takes a week of runs; here a tenth of a second")
    say("stands for an hour.")
    say("")


async def _watch(instances: list[Instance], seconds: float, say: Say) -> Outcome:
    """Send traffic, break retrieval half-way, and end when every series has fallen or time is over."""
    outcome = Outcome()
    traffic = Traffic([i.endpoint for i in instances], rate=RATE)
    began, began_at = time.monotonic(), time.time()
    traffic.start()
    told = 0.0
    try:
        while (now := time.monotonic() - began) < seconds:
            await asyncio.sleep(0.1)
            if outcome.fault_at is None and now > seconds / 2 and all(i.learned for i in instances):
                traffic.retriever.broken = True
                outcome.fault_at = now
                say(f"{now:5.1f} s  FAULT: from now on the index {FAULTY!r} is stale and has no reranker")
            for instance, alarm in _new_alarms(instances, outcome):
                outcome.alarms.append(instance.told(alarm))
                outcome.alarm_at = outcome.alarm_at or now
                say(f"{now:5.1f} s  ALARM: {instance.told(alarm)} fell {_fall(alarm, began_at)}")
            if now - told >= LINE_SECONDS:
                told = now
                say(f"{now:5.1f} s  {_line(instances)}")
            if len(outcome.alarms) >= sum(len(i.standings) for i in instances) > 0 and outcome.fault_at is not None:
                break
    finally:
        await asyncio.to_thread(traffic.stop)
    return outcome


def _new_alarms(instances: list[Instance], outcome: Outcome) -> list[tuple[Instance, AlarmRecord]]:
    found = [(instance, alarm) for instance in instances for alarm in instance.alarms]
    return [(instance, alarm) for instance, alarm in found if instance.told(alarm) not in outcome.alarms]


def _fall(alarm: AlarmRecord, began_at: float) -> str:
    mean = "" if alarm.mean is None else f" to {alarm.mean:.2f}"
    return f"from {alarm.reference:.2f}{mean}, most likely at {alarm.began - began_at:.1f} s"


def _line(instances: list[Instance]) -> str:
    shown = [
        f"{row.scorer.removeprefix('context_')} ({instance.judge}) {_estimate(row)}"
        for instance in instances
        for row in instance.standings
    ]
    return " | ".join(shown) or "waiting for the first scores"


def _estimate(row: Standing) -> str:
    if row.mean is None:
        return "-"
    interval = f" [{row.lower:.2f}, {row.upper:.2f}]" if row.lower is not None and row.upper is not None else ""
    return f"{row.mean:.2f}{interval}"


def _tell(outcome: Outcome, instances: list[Instance], say: Say) -> None:
    """End with the worst run, the passage at fault and where to look next."""
    say("")
    if outcome.fault_at is None:
        say("The reference was not learned in the time given: run it longer (--seconds).")
        return
    if not outcome.seen or outcome.alarm_at is None:
        early = outcome.alarm_at is not None
        say("An alarm came before the fault: that is a false alarm." if early else "The fault was not seen in time.")
        return
    say(f"The fault was seen {outcome.alarm_at - outcome.fault_at:.1f} s after it began.")
    worst = _worst(instances[1].scores)
    if worst is not None:
        say("\nThe worst run since:")
        for line in _evidence(worst):
            say(f"  {line}")
    url = instances[1].service.admin.url
    found = instances[1].alarms
    if found:
        say(f"\n{url}/alarms/{found[0].id} says since when, where and what else changed.")
    say(f"\nNext: {url} shows scores and alarms; its /metrics has histograms whose exemplars")
    say("carry the trace ids. On your own traces: otel-ctxscore explain FILE, then otel-ctxscore serve.")


def _worst(scores: Path) -> dict[str, Any] | None:
    """The latest of the runs with the lowest precision."""
    lines = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    scored = [(value, line) for line in lines if (value := _precision(line)) is not None]
    return min(reversed(scored), key=lambda pair: pair[0])[1] if scored else None


def _precision(line: dict[str, Any]) -> float | None:
    return next((score["value"] for score in line["scores"] if score["name"] == "context_precision"), None)


def _evidence(line: dict[str, Any]) -> Iterator[str]:
    yield f"trace     {line['trace_id']}"
    yield f"question  {line['query']}"
    contexts = line["retrievals"][0]["contexts"]
    for rank, context in enumerate(contexts, 1):
        yield f"  {rank}. {'useful ' if context['useful'] else 'useless'}  {context['text']}"
    yield f"answer    {line['response']}"
    for score in line["scores"]:
        if score["name"] in ("context_precision", "context_relevance"):
            why = textwrap.shorten(score["explanation"], EXPLAINED, placeholder=" ...")
            yield f"{score['name']} {score['value']}: {why}"
    useless = next((context for context in contexts if not context["useful"]), None)
    if useless is not None:
        yield f"At fault: passage {useless['id']!r} stands first and does not help."
