"""Scorers: they turn a judgement into numbers, each with its reason."""
