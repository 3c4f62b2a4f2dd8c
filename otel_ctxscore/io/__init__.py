"""One file an outside thing: what the line reads from and writes to."""
