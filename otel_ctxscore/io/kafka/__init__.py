"""Kafka: the source, the dead letters and the sink, all on aiokafka."""
