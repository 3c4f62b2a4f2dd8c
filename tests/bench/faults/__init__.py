"""What the judges see of retrieval faults."""
