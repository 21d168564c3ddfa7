"""What ``sameness.processes`` starts: plays the request that it reads, and writes what came out."""

import json
import sys

from amemgym_envs.check.plan import plan
from amemgym_envs.check.sameness import digests

if __name__ == "__main__":
    request = json.load(sys.stdin)
    json.dump(digests(plan(**request)), sys.stdout)
