"""Apache Kafka: one real broker (KRaft, no other process), from Maven."""

from tests.services.kafka.broker import Kafka, install
from tests.services.kafka.client import Record
from tests.services.kafka.distribution import KAFKA, installed
from tests.services.kafka.settings import PASSWORD, USER, unsigned_token

__all__ = ["KAFKA", "PASSWORD", "USER", "Kafka", "Record", "install", "installed", "unsigned_token"]
