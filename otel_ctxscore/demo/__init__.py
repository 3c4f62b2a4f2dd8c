"""The demo: generated RAG traffic with a retrieval fault half-way, scored by the real service."""
