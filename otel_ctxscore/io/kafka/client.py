"""How this service talks to brokers: the connection settings that every aiokafka client takes."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import for_code

from otel_ctxscore.config import secret
from otel_ctxscore.config.intake import KafkaSecurity
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.plugins import imported
from otel_ctxscore.security import client_context

log = logging.getLogger(__name__)

REFRESH_SHARE = 0.8
"""A token is asked for anew after this share of its lifetime."""


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """OAuth tokens from a function of the user's own, kept until most of their lifetime is over.

    `fetch` is async and returns (token, lifetime in seconds), or the token alone, which is then never kept. `renewed`
    is called when another token takes the place of one.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[object]],
        clock: Callable[[], float] = time.monotonic,
        renewed: Callable[[], None] = lambda: None,
    ) -> None:
        self._renewed = renewed
        self._fetch = fetch
        self._clock = clock
        self._token = ""
        self._until = float("-inf")

    async def token(self) -> str:
        now = self._clock()
        if now >= self._until:
            given = await self._fetch()
            token, lifetime = given if isinstance(given, tuple) else (given, 0)
            if self._token:
                log.info("kafka: the OAuth token is renewed")
                self._renewed()
            self._token, self._until = str(token), now + float(lifetime) * REFRESH_SHARE
        return self._token


def connection(
    brokers: list[str],
    security: KafkaSecurity,
    key: str = "sources.kafka.security",
    renewed: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The keyword arguments of an aiokafka client for these brokers. Raises ConfigError, whose lines begin with `key`.

    From then on aiokafka writes no debug lines of its connections: they would hold passwords and tokens.
    """
    logging.getLogger("aiokafka.conn").setLevel(logging.INFO)
    chosen: dict[str, Any] = {"bootstrap_servers": brokers, "security_protocol": security.protocol}
    if security.protocol in ("SSL", "SASL_SSL"):
        chosen["ssl_context"] = client_context(security.ca, security.cert, security.key, key)
    if security.protocol.startswith("SASL"):
        chosen |= _sasl(security, key, renewed)
    return chosen


async def started(connection: Mapping[str, Any], **options: Any) -> AIOKafkaProducer:
    """A producer that writes each record once, unless it dies in between. Raises KafkaError where no broker answers."""
    producer = AIOKafkaProducer(**connection, acks="all", enable_idempotence=True, **options)
    try:
        await producer.start()
    except BaseException:
        await producer.stop()
        raise
    return producer


async def partitions_of(topic: str, connection: Mapping[str, Any]) -> list[TopicPartition]:
    """The partitions of a topic. Raises KafkaError where there is no such topic, or no broker answers."""
    client = AIOKafkaAdminClient(**connection)
    try:
        await client.start()
        [found] = await client.describe_topics([topic])
    finally:
        await client.close()
    if found["error_code"]:
        raise for_code(found["error_code"])(f"topic {topic}")
    return sorted(TopicPartition(topic, one["partition"]) for one in found["partitions"])


def _sasl(security: KafkaSecurity, key: str, renewed: Callable[[], None]) -> dict[str, Any]:
    if security.mechanism is None:
        raise ConfigError(f"{key}.mechanism: is needed with protocol {security.protocol}")
    if security.mechanism == "OAUTHBEARER":
        if security.token is None:
            raise ConfigError(f"{key}.token: is needed with mechanism OAUTHBEARER")
        return {
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauth_token_provider": TokenProvider(_function(security.token, f"{key}.token"), renewed=renewed),
        }
    if security.username is None or security.password is None:
        raise ConfigError(f"{key}: username and password are needed with mechanism {security.mechanism}")
    return {
        "sasl_mechanism": security.mechanism,
        "sasl_plain_username": security.username,
        "sasl_plain_password": secret(security.password),
    }


def _function(code: str, key: str) -> Callable[[], Awaitable[object]]:
    found = imported(code, key)
    if not inspect.iscoroutinefunction(found):
        raise ConfigError(f"{key}: {code} is not an async function")
    return found
