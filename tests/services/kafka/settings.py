"""The broker's settings as text."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.services.process import HOST

USER, PASSWORD = "ctxscore", "ctxscore-secret"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Ports:
    """Of the listeners: without security, with SASL, and the controller's."""

    plain: int
    sasl: int
    controller: int


def cluster_id() -> str:
    """A new one, in the form that the storage tool takes: 22 characters, not starting with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def properties(ports: Ports, data: Path, users: Mapping[str, str], extra: Mapping[str, str]) -> str:
    """server.properties: one node that is broker and controller; `extra` wins over all."""
    settings = _base(ports, data) | (_sasl(ports, users) if users else {}) | dict(extra)
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _base(ports: Ports, data: Path) -> dict[str, str]:
    plain = f"PLAINTEXT://{HOST}:{ports.plain}"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "listeners": f"{plain},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": plain,
        "log.dirs": str(data),
        "num.partitions": "4",
        "auto.create.topics.enable": "true",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",  # so that a test of a dead consumer need not wait
        # After a crash the controller takes the broker back only when its old session is over (9 s by default).
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        # One partition makes "the coordinator answers" true for every group at once, and is made fast.
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "log.index.size.max.bytes": "1048576",
        "log.cleaner.dedupe.buffer.size": "16777216",
    }


def _sasl(ports: Ports, users: Mapping[str, str]) -> dict[str, str]:
    plain = f"PLAINTEXT://{HOST}:{ports.plain}"
    sasl = f"SASL_PLAINTEXT://{HOST}:{ports.sasl}"
    listener = "listener.name.sasl_plaintext"
    known = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    logins = {
        "plain": f"{_LOGIN}.plain.PlainLoginModule required {known};",
        **{name.lower(): f"{_LOGIN}.scram.ScramLoginModule required;" for name in SCRAM},
        # The broker takes unsigned tokens of any subject: what is tested is the client's side, its refresh included.
        "oauthbearer": f'{_LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
    }
    return {
        "listeners": f"{plain},{sasl},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": f"{plain},{sasl}",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{listener}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **{f"{listener}.{name}.sasl.jaas.config": login for name, login in logins.items()},
    }


def scram_arguments(users: Mapping[str, str]) -> list[str]:
    """For the storage tool: SCRAM users must be there before the first start."""
    entries = [
        f"{mechanism}=[name={user},password={password}]" for user, password in users.items() for mechanism in SCRAM
    ]
    return [word for entry in entries for word in ("--add-scram", entry)]


def unsigned_token(subject: str, seconds: float = 3600) -> str:
    """A token that the SASL listener takes for OAUTHBEARER, valid from now for `seconds`."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + seconds})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{'.'.join(encoded)}."
