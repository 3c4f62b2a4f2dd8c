"""Simulations of the statistics core: `python -m tests.bench.stats`. All are seeded; data is drawn with numpy, every
number under test comes from the product's own code."""
