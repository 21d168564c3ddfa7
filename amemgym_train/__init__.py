"""Train agents that get better at remembering: rollouts, diagnosis, fine-tuning, evolution."""

__version__ = "0.1.0"
