#!/usr/bin/env python3
"""Data-parallel training of a small network with nothing but Python's standard library.

Every rank computes the gradient over its own share of the data; rank 0 adds them up in rank
order and sends the mean back, so that all ranks hold the same weights, bit for bit. Ranks find
each other through RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torch's do.

Exit codes: 0 done; 1 failed; 2 wrong usage; 143 stopped by SIGTERM after a checkpoint.
"""
import argparse
import hashlib
import json
import os
import random
import signal
import sys
import time
from array import array
from pathlib import Path

sys.dont_write_bytecode = True  # a job's folder stays as it was
import mlp  # noqa: E402
from group import Config, Group, GroupError, Stopped  # noqa: E402

POINTS = 512
BATCH = 256  # of all ranks together
RATE = 0.05
MOMENTUM = 0.9
KEPT_CHECKPOINTS = 3
EXIT_TERMINATED = 128 + signal.SIGTERM


class Failure(Exception):
    """Something a person can mend; printed as one line."""


class State:
    """Everything that decides how training goes on: what a checkpoint holds."""

    def __init__(self, seed):
        self.step = 0
        self.loss = float("nan")
        self.seed = seed
        self.weights = mlp.fresh_weights(random.Random(f"weights {seed}"))
        self.velocity = array("d", bytes(8 * len(self.weights)))

    def to_bytes(self):
        body = self.weights.tobytes() + self.velocity.tobytes()
        head = {"step": self.step, "loss": self.loss.hex(), "seed": self.seed,
                "weights": len(self.weights), "sha256": hashlib.sha256(body).hexdigest()}
        return json.dumps(head).encode() + b"\n" + body

    @staticmethod
    def from_bytes(blob):
        """Raises ValueError when the bytes are not a whole checkpoint."""
        line, _, body = blob.partition(b"\n")
        head = json.loads(line)
        if hashlib.sha256(body).hexdigest() != head["sha256"]:
            raise ValueError("its content does not match its hash")
        state = State(head["seed"])
        if head["weights"] != len(state.weights) or len(body) != 16 * head["weights"]:
            raise ValueError("it belongs to another network")
        state.step, state.loss = head["step"], float.fromhex(head["loss"])
        state.weights = array("d", body[: len(body) // 2])
        state.velocity = array("d", body[len(body) // 2:])
        return state


def save_checkpoint(folder, state):
    """Whole or not at all: a temporary name, synced, then renamed into place."""
    final = folder / f"step-{state.step:06}.ckpt"
    partial = folder / f".{final.name}.partial"
    with open(partial, "wb") as file:
        file.write(state.to_bytes())
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, final)
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    for old in sorted(folder.glob("step-*.ckpt"))[:-KEPT_CHECKPOINTS]:
        old.unlink()
    print(f"checkpoint {final.name}", flush=True)


def load_checkpoint(path, seed):
    try:
        state = State.from_bytes(path.read_bytes())
    except (OSError, ValueError, KeyError) as error:
        raise Failure(f"cannot resume from {path}: {error}") from error
    if state.seed != seed:
        raise Failure(f"cannot resume from {path}: it was made with --seed {state.seed}, not {seed}")
    print(f"resumed from {path.name} at step {state.step}", flush=True)
    return state


def first_state(options):
    """Rank 0's choice: the checkpoint it is told to use, else its newest whole one, else none."""
    named = os.environ.get("MUSTER_RESUME_FROM", "")
    if named:
        return load_checkpoint(Path(named), options.seed)
    found = sorted(options.checkpoint_dir.glob("step-*.ckpt")) if options.checkpoint_dir else []
    for path in reversed(found):
        try:
            return load_checkpoint(path, options.seed)
        except Failure as failure:
            print(f"{failure}; trying an older one", file=sys.stderr, flush=True)
    return State(options.seed)


def batch_of(shard, step, size):
    """The `step`-th slice of the shard, walking round and round."""
    start = step * size % len(shard)
    return (shard + shard)[start:start + size]


def fail_if_asked(options, rank, step):
    if step != options.fail_at_step or rank != options.fail_rank:
        return
    if options.fail_once and os.environ.get("MUSTER_ATTEMPT", "1") != "1":
        return
    raise RuntimeError(f"failing at step {step} on rank {rank}, as asked by --fail-at-step")


def train_step(options, group, state, batch, stop_wanted):
    """One step on all ranks together. True when any rank was asked to stop."""
    loss, gradient = mlp.loss_and_gradient(state.weights, batch)
    if options.step_ms:
        time.sleep(options.step_ms / 1000)
    fail_if_asked(options, group.rank, state.step + 1)
    # Loss and stop flag ride along, so that every rank draws the same conclusion at the same step.
    mean = group.mean(array("d", [*gradient, loss, float(stop_wanted)]), f"step {state.step + 1}")
    stop, state.loss = mean.pop() > 0, mean.pop()
    for i, slope in enumerate(mean):
        state.velocity[i] = MOMENTUM * state.velocity[i] - RATE * slope
        state.weights[i] += state.velocity[i]
    state.step += 1
    return stop


def train(options, group, state, stop):
    """Trains to the last step, or until somebody asks to stop. True when it got to the end."""
    if group.world > BATCH:
        raise Failure(f"{group.world} ranks cannot share a batch of {BATCH}; use fewer")
    shard = mlp.spiral(POINTS, options.seed)[group.rank::group.world]
    size = BATCH // group.world
    is_first = group.rank == 0
    while state.step < options.steps:
        stopping = train_step(options, group, state, batch_of(shard, state.step, size), stop.wanted)
        at_end = state.step == options.steps
        if is_first and (state.step % options.log_every == 0 or at_end or stopping):
            print(f"step {state.step} loss {state.loss:.4f}", flush=True)
        due = stopping or at_end or state.step % options.checkpoint_every == 0
        if is_first and due and options.checkpoint_dir:
            save_checkpoint(options.checkpoint_dir, state)
        if stopping and not at_end:
            return False
    return True


def ranks(count):
    return "1 rank" if count == 1 else f"{count} ranks"


def check_equal(group, state):
    """All ranks must hold the same weights, bit for bit."""
    mine = hashlib.sha256(state.weights.tobytes()).hexdigest()
    hashes = group.gather(mine.encode(), "comparing weights")
    if group.rank != 0:
        return
    different = [rank for rank, other in enumerate(hashes) if other.decode() != mine]
    if different:
        raise Failure(f"ranks {different} hold other weights than rank 0")
    print(f"weights {mine[:16]} equal on {ranks(group.world)}", flush=True)


class StopSignal:
    """Set by SIGTERM, looked at between steps: a step is never torn."""

    def __init__(self):
        self.wanted = False
        signal.signal(signal.SIGTERM, self._arrived)

    def _arrived(self, _number, _frame):
        self.wanted = True


def parse_options(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-every", type=int, default=20, metavar="STEPS")
    parser.add_argument("--checkpoint-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--checkpoint-dir", type=Path, metavar="DIR",
                        default=os.environ.get("MUSTER_CHECKPOINT_DIR") or None,
                        help="default: MUSTER_CHECKPOINT_DIR; neither: no checkpoints")
    parser.add_argument("--step-ms", type=float, default=0, help="make each step take longer")
    parser.add_argument("--connect-timeout", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--peer-timeout", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--fail-at-step", type=int, metavar="STEP", help="to see what a failure does")
    parser.add_argument("--fail-rank", type=int, default=0, metavar="RANK")
    parser.add_argument("--fail-once", action="store_true", help="only in the first attempt")
    options = parser.parse_args(argv)
    for name in ("steps", "log_every", "checkpoint_every"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def run(options, config, stop):
    if options.checkpoint_dir:
        options.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    terms = f"{options.seed} {options.steps} {os.environ.get('MUSTER_JOB_ID', '')}"
    with Group(config, terms, is_stopped=lambda: stop.wanted) as group:
        # Only rank 0 reads checkpoints: the others may be on machines that do not see its disk.
        blob = group.broadcast(first_state(options).to_bytes() if group.rank == 0 else b"", "start")
        state = State.from_bytes(blob)
        if not train(options, group, state, stop):
            print(f"rank {group.rank}: stopped by SIGTERM after step {state.step}",
                  file=sys.stderr, flush=True)
            return EXIT_TERMINATED
        check_equal(group, state)
        if group.rank == 0:
            print(f"done: loss {state.loss:.3f} after {state.step} steps on {ranks(group.world)}",
                  flush=True)
    return 0


def main(argv):
    options = parse_options(argv)
    rank = os.environ.get("RANK", "0")
    try:
        config = Config.from_environment(options.connect_timeout, options.peer_timeout)
        return run(options, config, StopSignal())
    except Stopped:
        print(f"rank {rank}: stopped by SIGTERM before the first step", file=sys.stderr)
        return EXIT_TERMINATED
    except (Failure, GroupError, OSError) as error:
        print(f"rank {rank}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
