"""One file an outside thing: what the line reads from and writes to."""

import os

# gRPC reads this when it is loaded, and only modules of this package load it. Its listener of before the event engine
# polls in the thread that reads, where the event engine hands each event on from thread to thread: a fifth of what a
# request costs. A gRPC that no longer knows the name says so once, and goes on.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_listener")
