"""The answer of an evaluation and the ways to say, show and keep it."""
