"""Wordle: its words, the marks of a guess, a solver and the environment."""
