"""Judges: they say which contexts were useful and which were used."""
