"""The broker's settings as text."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.certificates import Certificates
from tests.services.process import HOST

USER, PASSWORD = "ctxscore", "ctxscore-secret"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Ports:
    """Of the listeners: without security, with a login, with TLS, and the controller's."""

    plain: int
    sasl: int
    tls: int
    controller: int


@dataclass(frozen=True)
class Security:
    """Who may log in (name: password), and the certificates; each may be left out."""

    users: Mapping[str, str] = field(default_factory=dict)
    certificates: Certificates | None = None

    def listeners(self, ports: Ports) -> dict[str, int]:
        """The port by the security protocol, which is the listener's name as well."""
        sasl = {"SASL_PLAINTEXT": ports.sasl} if self.users else {}
        tls = {"SASL_SSL" if self.users else "SSL": ports.tls} if self.certificates else {}
        return {"PLAINTEXT": ports.plain, **sasl, **tls}


def cluster_id() -> str:
    """A new one, in the form that the storage tool takes: 22 characters, not starting with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def properties(ports: Ports, data: Path, security: Security, extra: Mapping[str, str]) -> str:
    """server.properties: one node that is broker and controller; `extra` wins over all."""
    names = security.listeners(ports)
    logins = [_logins(name, security.users) for name in names if name.startswith("SASL")]
    settings = _base(data) | _network(names, ports.controller) | _tls(security.certificates)
    for login in logins:
        settings |= login
    return "".join(f"{key}={value}\n" for key, value in (settings | dict(extra)).items())


def _network(names: Mapping[str, int], controller: int) -> dict[str, str]:
    advertised = ",".join(f"{name}://{HOST}:{port}" for name, port in names.items())
    return {
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": ",".join(["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in names)]),
        "listeners": f"{advertised},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": advertised,
    }


def _base(data: Path) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
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


def _logins(listener: str, users: Mapping[str, str]) -> dict[str, str]:
    prefix = f"listener.name.{listener.lower()}"
    known = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    logins = {
        "plain": f"{_LOGIN}.plain.PlainLoginModule required {known};",
        **{name.lower(): f"{_LOGIN}.scram.ScramLoginModule required;" for name in SCRAM},
        # The broker takes unsigned tokens of any subject: what is tested is the client's side, its refresh included.
        "oauthbearer": f'{_LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
    }
    modules = {f"{prefix}.{name}.sasl.jaas.config": login for name, login in logins.items()}
    return {f"{prefix}.sasl.enabled.mechanisms": ",".join(MECHANISMS), **modules}


def _tls(certificates: Certificates | None) -> dict[str, str]:
    if certificates is None:
        return {}
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": _one_line(certificates.key.read_text()),
        "ssl.keystore.certificate.chain": _one_line(certificates.cert.read_text()),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.client.auth": "requested",
    }


def _one_line(pem: str) -> str:
    return pem.strip().replace("\n", "\\n")


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
