"""TLS and logins, on a real broker."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.io.kafka.reading import reading, settings
from tests.io.requests import traces
from tests.services.certificates import Certificates
from tests.services.fixtures import StartKafka
from tests.services.kafka import PASSWORD, USER, Kafka, Record, unsigned_token

SECONDS = 3.0
"""Lifetime of a token, and of a session at the broker."""
tokens: list[str] = []
token_failures = 0


async def fresh_token() -> tuple[str, float]:
    """What a user gives as `token`: it fails as often as `token_failures` says."""
    global token_failures
    if token_failures:
        token_failures -= 1
        raise OSError("the token endpoint is down")
    tokens.append(unsigned_token("reader", SECONDS))
    return tokens[-1], SECONDS


LOGINS = {
    "PLAIN": {"username": USER, "password": PASSWORD},
    "SCRAM-SHA-256": {"username": USER, "password": PASSWORD},
    "SCRAM-SHA-512": {"username": USER, "password": PASSWORD},
    "OAUTHBEARER": {"token": "tests.io.kafka.test_security:fresh_token"},
}


@pytest.mark.parametrize("mechanism", LOGINS)
@pytest.mark.parametrize("tls", [False, True], ids=["", "tls"])
async def test_logins(mechanism: str, tls: bool, kafka: Kafka, certificates: Certificates) -> None:
    topic = kafka.topic()
    kafka.send(topic, [Record(traces())])
    protocol, brokers = ("SASL_SSL", kafka.tls_bootstrap) if tls else ("SASL_PLAINTEXT", kafka.sasl_bootstrap)
    security = {"protocol": protocol, "mechanism": mechanism, **LOGINS[mechanism]}
    security |= {"ca": str(certificates.ca)} if tls else {}
    letters = {"topic": kafka.topic()}
    async with reading(settings(brokers, topic, security=security, dead_letter=letters)) as now:
        await now.until(lambda it: len(it.line.spans) == 1)
        await asyncio.to_thread(kafka.send, topic, [Record(b"hello")])
        await now.until(lambda it: it.counts.requests["malformed"] == 1)
    assert len(await asyncio.to_thread(kafka.read, letters["topic"], 1)) == 1


async def test_a_certificate_of_our_own(start_kafka: StartKafka, certificates: Certificates) -> None:
    kafka = await asyncio.to_thread(start_kafka, None, {"ssl.client.auth": "required"}, certificates)
    topic = kafka.topic()
    kafka.send(topic, [Record(traces())])
    security = {"protocol": "SSL", "ca": str(certificates.ca)}
    security |= {"cert": str(certificates.client_cert), "key": str(certificates.client_key)}
    async with reading(settings(kafka.tls_bootstrap, topic, security=security)) as now:
        await now.until(lambda it: len(it.line.spans) == 1)


@pytest.mark.trouble("C83")
async def test_sessions_that_end_with_their_token(start_kafka: StartKafka, caplog: pytest.LogCaptureFixture) -> None:
    """The broker ends a session with its token; reading goes on with a fresh one, also after the token endpoint was
    down for a while, and without a flood of lines."""
    global token_failures
    lifetime = {"listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms": str(int(SECONDS * 1000))}
    kafka = await asyncio.to_thread(start_kafka, {USER: PASSWORD}, lifetime)
    topic = kafka.topic()
    tokens.clear()
    security = {"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", **LOGINS["OAUTHBEARER"]}
    chosen = settings(kafka.sasl_bootstrap, topic, security=security)
    with caplog.at_level(logging.INFO):
        async with reading(chosen) as now:
            for sent in range(1, 15):
                token_failures = 3 if sent == 7 else token_failures
                await asyncio.to_thread(kafka.send, topic, [Record(traces((bytes([sent]) * 16, b"1" * 8)))])
                await asyncio.sleep(0.7)
            await now.until(lambda it: len({span.trace_id for span in it.line.spans}) == 14)
            assert now.source.unhealthy() is None
    assert len(tokens) >= 3
    assert now.counts.reconnects["token"] == len(tokens) - 1
    renewals = [line for line in caplog.records if line.getMessage() == "kafka: the OAuth token is renewed"]
    assert len(renewals) == len(tokens) - 1
    assert (await asyncio.to_thread(kafka.committed, chosen.group_id)) == {(topic, 0): 14}
    loud = [line.getMessage() for line in caplog.records if line.levelno >= logging.WARNING]
    assert len(loud) < 30
    assert not [line for line in caplog.records if tokens[0] in line.getMessage()]


async def test_wrong_credentials_are_said_without_the_secret(kafka: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    security = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": USER, "password": "pw-CANARY-0003"}
    with caplog.at_level(logging.DEBUG):
        async with reading(settings(kafka.sasl_bootstrap, kafka.topic(), security=security)) as now:
            await now.until(lambda _: any("uthentication" in record.getMessage() for record in caplog.records))
            await asyncio.sleep(0.5)
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert any("Authentication failed" in line for line in said), said
    assert len(said) <= 5, said
    assert "CANARY" not in caplog.text
    assert "CANARY" not in repr(now.source.settings)


@pytest.mark.parametrize(
    ("security", "named"),
    [
        ({"protocol": "SASL_SSL"}, "mechanism"),
        ({"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": "u"}, "password"),
        ({"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER"}, "token"),
        ({"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "token": "nowhere:nothing"}, "nowhere:nothing"),
        ({"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER", "token": "json:loads"}, "json:loads"),
        ({"protocol": "SSL", "ca": "/nowhere.pem"}, "certificate"),
    ],
)
@pytest.mark.trouble("C83")
async def test_what_cannot_work_is_refused_at_the_start(security: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):  # ConfigError, or what the model itself refuses
        async with reading(settings("127.0.0.1:1", "t", security=security)):
            pass
