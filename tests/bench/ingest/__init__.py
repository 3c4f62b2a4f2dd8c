"""What it costs to take spans in, beside other collectors: `python -m tests.bench.ingest`."""
