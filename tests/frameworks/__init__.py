"""Applications of instrumented frameworks with fake models, in an environment of their own."""
