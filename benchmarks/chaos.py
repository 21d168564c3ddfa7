"""Evolution under fire: kills at random moments, killed ranks, full disks, damaged files; the table of docs/reliability.md.

python benchmarks/chaos.py kills --times 100 --out chaos           # SIGKILL at a random moment, then the same command again
python benchmarks/chaos.py kills --times 20 --out chaos --method grpo
python benchmarks/chaos.py ranks --times 20 --out chaos            # one rank of two under ZeRO-2 (needs deepspeed)
python benchmarks/chaos.py ranks --times 10 --out chaos --launcher accelerate
python benchmarks/chaos.py table --out chaos

A small evolution of the quickstart model. What must be equal is the hash of all its manifests, but for the seconds in them.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from amemgym_train.evolution.manifest import entries_of

ROOT = Path(__file__).resolve().parents[1]
USERS = {"num_users": 2, "num_periods": 1, "num_questions": 2, "num_variables": 4}
SMALL = [f"scenarios.{role}.{key}={value}" for role in ("train", "validation", "test") for key, value in USERS.items()]
SMALL += ["training.batch_size=4", "training.save_steps=2", "rollout.concurrency=3"]  # checkpoints, and rollouts in waves
ON_POLICY = ["training.grpo.steps=3", "training.learning_rate=1e-3"]
ZERO2 = ROOT / "accelerate_configs" / "cpu_zero2.yaml"
LIMIT_S = 60  # within which a launch must end that lost a rank


def keys(name: str, out: Path, method: str, iterations: int) -> list[str]:
    chosen = [f"training.method={method}", *(ON_POLICY if method == "grpo" else [])]
    return [*SMALL, *chosen, f"evolution.iterations={iterations}", f"name={name}", f"output={out}"]


def command(launcher: str, words: list[str]) -> list[str]:
    recipe = str(ROOT / "recipes" / "configs" / "quickstart.yaml")
    if launcher == "zero2":  # by hand, all stages in one launch
        start = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file", str(ZERO2)]
        return [*start, str(ROOT / "recipes" / "evolve.py"), recipe, *words]
    if launcher == "accelerate":
        words = [*words, "evolution.launcher=accelerate", f"evolution.launch.file={ZERO2}"]
    return [sys.executable, "-m", "amemgym_train.cli", "evolve", recipe, *words]


def start(words: list[str], log: Path) -> subprocess.Popen:
    env = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "ACCELERATE_USE_CPU": "true"}
    with log.open("ab") as file:
        return subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, env=env, start_new_session=True)


def fingerprint(run: Path) -> str:
    """Of all that the manifests say, but how long it took."""
    found = {}
    for path in sorted([*run.glob("iterations/*/manifest.json"), run / "test" / "manifest.json"]):
        for name, entry in entries_of(path).items():
            result = json.loads(json.dumps(entry["result"]), object_hook=without_seconds)
            found[f"{path.parent.name}/{name}"] = [entry["inputs"], entry["outputs"], result]
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def without_seconds(value: dict) -> dict:
    return {key: one for key, one in value.items() if key != "seconds"}


def last_stage(log: Path) -> str:
    """The stage that was at work, as its process says."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("iteration ", "test: "))]
    return lines[-1].partition(": ")[2].split()[0] if lines else "start"


def kills(args: argparse.Namespace) -> None:
    wanted, seconds = undisturbed(args, f"whole_{args.method}", "inline", 3)
    draw = random.Random(args.seed)
    for number in range(args.times):
        name = f"killed_{args.method}_{args.seed}_{number:03d}"
        words, log = command("inline", keys(name, args.out, args.method, 3)), args.out / f"{name}.log"
        log.unlink(missing_ok=True)
        process = start(words, log)
        at = draw.uniform(0.5, seconds)
        try:
            process.wait(at)
            stage = "finished"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            stage = last_stage(log)
        code = start(words, log).wait()
        equal = code == 0 and fingerprint(args.out / name) == wanted
        note(args.out, {"kind": f"kill, {args.method}", "at": round(at, 2), "stage": stage, "code": code, "equal": equal})
        if equal:
            shutil.rmtree(args.out / name)


def ranks(args: argparse.Namespace) -> None:
    launcher = "zero2" if args.launcher == "inline" else args.launcher
    wanted, seconds = undisturbed(args, f"whole_{launcher}", launcher, 1)
    draw = random.Random(args.seed)
    for number in range(args.times):
        name = f"ranks_{launcher}_{args.seed}_{number:03d}"
        words, log = command(launcher, keys(name, args.out, "rft", 1)), args.out / f"{name}.log"
        log.unlink(missing_ok=True)
        process, rank = start(words, log), draw.randrange(2)
        time.sleep(draw.uniform(0.2, 0.9) * seconds)
        killed = kill_rank(process, rank)
        since = time.monotonic()
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
        took, stage = time.monotonic() - since, last_stage(log)
        text = log.read_text(errors="replace")
        named = f"rank      : {rank} " in text or f"Rank {rank} (pid {killed}) was killed by SIGKILL" in text
        again = start(words, log).wait()
        equal = again == 0 and fingerprint(args.out / name) == wanted
        told = {"kind": f"rank, {launcher}", "stage": stage, "killed": killed is not None, "seconds": round(took, 1)}
        note(args.out, told | {"code": code, "named": named, "equal": equal})
        if equal:
            shutil.rmtree(args.out / name)


def kill_rank(process: subprocess.Popen, rank: int) -> int | None:
    """The pid of the rank that was killed; waits for one where a launch is just beginning."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                if child.environ().get("RANK") == str(rank) and "LOCAL_RANK" in child.environ():
                    child.kill()
                    return child.pid
            except psutil.Error:
                continue
        time.sleep(0.02)
    return None


def undisturbed(args: argparse.Namespace, name: str, launcher: str, iterations: int) -> tuple[str, float]:
    """The hash of a run that nothing disturbed, and its seconds."""
    path, method = args.out / f"{name}.json", args.method if launcher == "inline" else "rft"
    if not path.is_file():
        words, log = command(launcher, keys(name, args.out, method, iterations)), args.out / f"{name}.log"
        for _ in range(1 if launcher == "inline" else 2):  # DeepSpeed compiles in its first launch: the second is timed
            shutil.rmtree(args.out / name, ignore_errors=True)
            began = time.monotonic()
            if start(words, log).wait():
                sys.exit(f"the undisturbed run failed, see {log}")
        path.write_text(json.dumps([fingerprint(args.out / name), time.monotonic() - began]))
    wanted, seconds = json.loads(path.read_text())
    print(f"{name}: {wanted[:16]} in {seconds:.1f} s", flush=True)
    return wanted, seconds


def note(out: Path, line: dict) -> None:
    with (out / "chaos.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


def table(args: argparse.Namespace) -> None:
    lines = [json.loads(line) for line in (args.out / "chaos.jsonl").read_text().splitlines()]
    for kind in dict.fromkeys(line["kind"] for line in lines):
        of_kind = [line for line in lines if line["kind"] == kind]
        stages = {stage: sum(line["stage"] == stage for line in of_kind) for stage in sorted({line["stage"] for line in of_kind})}
        equal = sum(line["equal"] for line in of_kind)
        hit, ended = [line for line in of_kind if line.get("killed")], ""
        if hit:
            alone, named = sum(bool(line["code"]) for line in hit), sum(line["named"] for line in hit)
            ended = f"{alone} of {len(hit)}, in at most {max(line['seconds'] for line in hit)} s; rank named {named} times"
        where = ", ".join(f"{name} {count}" for name, count in stages.items())
        print(f"| {kind} | {len(of_kind)} | {equal} | {where} | {ended} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "ranks", "table"))
    parser.add_argument("--out", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", choices=("rft", "grpo"), default="rft")
    parser.add_argument("--launcher", choices=("inline", "accelerate"), default="inline", help="inline: by hand")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    {"kills": kills, "ranks": ranks, "table": table}[args.what](args)


if __name__ == "__main__":
    main()
