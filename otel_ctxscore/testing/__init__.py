"""Fakes that are part of the product: for tests of plug-ins and applications, and for the demo."""

from otel_ctxscore.testing.fakes import MemorySink, ScriptedJudge
from otel_ctxscore.testing.judge_call import Call
from otel_ctxscore.testing.judge_server import Reply, ScriptedJudgeServer, verdicts

__all__ = ["Call", "MemorySink", "Reply", "ScriptedJudge", "ScriptedJudgeServer", "verdicts"]
