"""Mazes that are dug from a task id, the map of AgentGym, and the environment."""
