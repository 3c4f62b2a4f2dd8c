import pytest

from otel_ctxscore.core.model import Context, Evaluation, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.ports import Judge, JudgeError, Sink
from otel_ctxscore.testing import MemorySink, ScriptedJudge

RUN = RagRun("q", [Retrieval([Context("a")])])


async def test_a_scripted_judge_is_a_judge() -> None:
    judge = ScriptedJudge(lambda run: Judgement([Verdict(useful=True) for _ in run.judged]))
    assert isinstance(judge, Judge)
    judgement = await judge.judge(RUN)
    assert judgement.verdicts == (Verdict(useful=True),)
    assert judgement.judged_by is not None
    assert (judgement.judged_by.tier, judgement.judged_by.model) == (judge.tier, judge.model)
    assert judge.runs == [RUN]


async def test_a_scripted_judge_can_fail() -> None:
    judge = ScriptedJudge(lambda run: Reason.JUDGE_REFUSED)
    with pytest.raises(JudgeError) as error:
        await judge.judge(RUN)
    assert error.value.reason is Reason.JUDGE_REFUSED


async def test_a_memory_sink_keeps_what_it_gets() -> None:
    sink = MemorySink()
    assert isinstance(sink, Sink)
    evaluation = Evaluation(RUN, None, (), TraceOutcome.UNSCORED, Reason.JUDGE_REFUSED)
    await sink.emit(evaluation)
    await sink.close()
    assert (sink.evaluations, sink.closed) == ([evaluation], True)
