"""One turn is scored once, also where its spans come by OTLP and stand in a topic as well."""

from __future__ import annotations

import asyncio

from otel_ctxscore.core.codec import take_traces
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery
from tests.io.kafka.replicas import Replica, World
from tests.io.kafka.simulated import Cluster
from tests.io.kafka.test_at_least_once import pieces
from tests.otlp import request, span
from tests.virtual_time import run

KIND = "openinference.span.kind"


def test_both_entrances_give_one_evaluation() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        for wait in (0, 3, 60):  # at once, while it is put together, and long after it was scored
            await asyncio.sleep(wait)
            for piece in pieces(1):
                cluster.append(0, piece)
                taken = take_traces(piece, "json", replica.line.keeps)
                receipt = Receipt()
                replica.line.accept(Delivery(taken.spans, receipt, source="otlp_grpc"))
                receipt.settle()
        await asyncio.sleep(30)
        assert len(world.emitted) == 1
        assert cluster.done_with
        await replica.stop()

    run(scenario())


def test_steps_around_a_retrieval_are_no_turns_of_their_own() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        texts = {"retrieval.documents.0.document.content": "port 7443"}
        asked = {"input.value": "Which port?"}
        steps = [{KIND: "LLM", **asked}] * 3 + [{KIND: "TOOL", "input.value": "{}"}] * 2
        spans = [span(1, 1, None, {KIND: "CHAIN", **asked, "output.value": "7443."})]
        spans.append(span(1, 2, 1, {KIND: "RETRIEVER", **asked, **texts}))
        spans += [span(1, 3 + place, 1, attributes) for place, attributes in enumerate(steps)]
        cluster.append(0, request(spans))
        await asyncio.sleep(30)
        [evaluation] = world.emitted
        names = [(score.name, score.retrieval) for score in evaluation.scores]
        assert len(names) == len(set(names))
        await replica.stop()

    run(scenario())
