"""Trains a recipe on-policy by PPO under a distributed launch; takes what ``amemgym-train evolve`` takes.

accelerate launch --config_file accelerate_configs/single.yaml recipes/ppo.py recipes/configs/quickstart.yaml
"""

import sys

from amemgym_train.cli import main

if __name__ == "__main__":
    sys.exit(main(["evolve", *sys.argv[1:], "training.method=ppo"]))
