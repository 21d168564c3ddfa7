"""BIRD: questions about a database, answered by SQL."""
