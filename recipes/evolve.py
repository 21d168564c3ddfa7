"""Runs a recipe's evolution loop under a distributed launch; takes what ``amemgym-train evolve`` takes.

accelerate launch --config_file accelerate_configs/single.yaml recipes/evolve.py recipes/configs/smollm2_cpu.yaml
"""

import sys

from amemgym_train.cli import main

if __name__ == "__main__":
    sys.exit(main(["evolve", *sys.argv[1:]]))
