#!/usr/bin/env python3
"""Runs the ddp-mlp recipe with real processes, the environment set by hand as muster would."""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MUSTER_SOURCE_DIR", Path(__file__).resolve().parents[2]))
TRAIN = ROOT / "recipes" / "ddp-mlp" / "train.py"
DEADLINE = 60  # a hang ends the test, it is no measure of speed


def free_port():
    """Below the range the kernel hands out by itself, where a rank could connect to itself."""
    while True:
        port = random.randrange(20000, 30000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue


class Run:
    """The ranks of one run; output goes to files, so that no pipe can fill up."""

    def __init__(self, folder, world, *arguments, only=None, **extra):
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("MUSTER_", "MASTER_"))}
        base = keep | {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port()), "PYTHONUNBUFFERED": "1"} | extra
        self.ranks = {rank: self._start(rank, base, arguments)
                      for rank in (range(world) if only is None else only)}

    def _start(self, rank, base, arguments):
        with open(self.folder / f"{rank}.out", "wb") as out, \
                open(self.folder / f"{rank}.err", "wb") as err:
            return subprocess.Popen([sys.executable, TRAIN, *arguments], stdout=out, stderr=err,
                                    env=base | {"RANK": str(rank)}, cwd=self.folder)

    def out(self, rank=0):
        return (self.folder / f"{rank}.out").read_text()

    def err(self, rank=0):
        return (self.folder / f"{rank}.err").read_text()

    def codes(self):
        until = time.monotonic() + DEADLINE
        return [process.wait(max(0.1, until - time.monotonic())) for process in self.ranks.values()]

    def wait_for(self, text):
        until = time.monotonic() + DEADLINE
        while text not in self.out():
            if time.monotonic() > until or self.ranks[0].poll() is not None:
                raise AssertionError(f"no {text!r} in:\n{self.out()}\n{self.err()}")
            time.sleep(0.01)

    def end(self):
        for process in self.ranks.values():
            process.kill()
            process.wait()


def weights_of(run):
    return re.search(r"^weights ([0-9a-f]{16}) equal on", run.out(), re.M)[1]


class DdpMlp(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.folder = Path(temp.name)

    def run_ranks(self, world, *arguments, **extra):
        run = Run(self.folder, world, *arguments, **extra)
        self.addCleanup(run.end)
        return run

    def finished(self, world, *arguments, **extra):
        run = self.run_ranks(world, *arguments, **extra)
        self.assertEqual(run.codes(), [0] * world, run.err())
        return run

    def checkpoints(self):
        folder = self.folder / "checkpoint"
        folder.mkdir(exist_ok=True)
        return folder

    def test_the_loss_falls_on_one_rank_and_on_four_alike(self):
        for world in (1, 4):
            run = self.finished(world)
            losses = [float(x) for x in re.findall(r"^step \d+ loss ([0-9.]+)$", run.out(), re.M)]
            self.assertEqual(len(losses), 10)
            self.assertEqual(losses, sorted(losses, reverse=True))
            self.assertLess(losses[-1], 0.1)
            ranks = "1 rank" if world == 1 else f"{world} ranks"
            last = run.out().splitlines()[-1]
            self.assertRegex(last, rf"^done: loss 0\.0\d\d after 200 steps on {ranks}$")

    def test_all_ranks_hold_the_same_weights_and_only_rank_zero_speaks(self):
        run = self.finished(3, "--steps", "20")
        self.assertRegex(run.out(), r"(?m)^weights [0-9a-f]{16} equal on 3 ranks$")
        self.assertEqual(run.out(1) + run.out(2) + run.err(1), "")

    def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(self):
        first = weights_of(self.finished(2, "--steps", "10", "--seed", "7"))
        self.assertEqual(first, weights_of(self.finished(2, "--steps", "10", "--seed", "7")))
        self.assertNotEqual(first, weights_of(self.finished(2, "--steps", "10", "--seed", "8")))

    def test_a_run_resumed_from_the_checkpoint_folder_equals_an_uninterrupted_one(self):
        whole = weights_of(self.finished(2, "--steps", "60"))
        folder = str(self.checkpoints())
        options = ("--checkpoint-every", "10")
        self.finished(2, "--steps", "30", *options, MUSTER_CHECKPOINT_DIR=folder)
        rest = self.finished(2, "--steps", "60", *options, MUSTER_CHECKPOINT_DIR=folder)
        self.assertIn("resumed from step-000030.ckpt at step 30", rest.out())
        self.assertEqual(weights_of(rest), whole)

    def test_a_named_checkpoint_goes_before_the_newest_one(self):
        folder = self.checkpoints()
        self.finished(1, "--steps", "30", "--checkpoint-every", "10",
                      MUSTER_CHECKPOINT_DIR=str(folder))
        rest = self.finished(1, "--steps", "40", MUSTER_CHECKPOINT_DIR=str(folder),
                             MUSTER_RESUME_FROM=str(folder / "step-000020.ckpt"))
        self.assertIn("resumed from step-000020.ckpt at step 20", rest.out())
        self.assertEqual(weights_of(rest), weights_of(self.finished(1, "--steps", "40")))

    def test_a_torn_checkpoint_is_passed_over_for_an_older_one(self):
        folder = self.checkpoints()
        self.finished(1, "--steps", "20", "--checkpoint-every", "10",
                      MUSTER_CHECKPOINT_DIR=str(folder))
        newest = folder / "step-000020.ckpt"
        newest.write_bytes(newest.read_bytes()[:-1])
        rest = self.finished(1, "--steps", "20", MUSTER_CHECKPOINT_DIR=str(folder))
        self.assertIn("step-000020.ckpt: its content does not match its hash", rest.err())
        self.assertIn("resumed from step-000010.ckpt", rest.out())

    def test_a_named_checkpoint_that_cannot_be_read_is_an_error_and_not_a_fresh_start(self):
        run = self.run_ranks(2, MUSTER_RESUME_FROM=str(self.folder / "nowhere.ckpt"))
        self.assertEqual(run.codes(), [1, 1])
        self.assertIn("cannot resume from", run.err(0))
        self.assertIn("cannot resume from", run.err(1))

    def test_sigterm_on_one_rank_checkpoints_and_ends_all_with_143(self):
        whole = weights_of(self.finished(3, "--steps", "60"))
        folder = str(self.checkpoints())
        options = ("--steps", "60", "--log-every", "1")
        run = self.run_ranks(3, *options, "--step-ms", "30", MUSTER_CHECKPOINT_DIR=folder)
        run.wait_for("step 5 ")
        run.ranks[1].send_signal(signal.SIGTERM)
        self.assertEqual(run.codes(), [143, 143, 143])
        stopped = int(re.findall(r"^step (\d+) ", run.out(), re.M)[-1])
        self.assertLess(stopped, 60)
        self.assertIn(f"checkpoint step-{stopped:06}.ckpt", run.out())
        rest = self.finished(3, *options, MUSTER_CHECKPOINT_DIR=folder)
        self.assertIn(f"at step {stopped}", rest.out())
        self.assertEqual(weights_of(rest), whole)

    def test_a_killed_rank_ends_the_others_and_is_named_by_all_of_them(self):
        run = self.run_ranks(4, "--steps", "100000", "--log-every", "1", "--step-ms", "5")
        run.wait_for("step 3 ")
        run.ranks[2].kill()
        self.assertEqual(run.codes(), [1, 1, -signal.SIGKILL, 1])
        for rank in (0, 1, 3):
            self.assertRegex(run.err(rank), rf"rank {rank}: step \d+: rank 2 went away")

    def test_the_death_of_rank_zero_ends_the_others(self):
        run = self.run_ranks(3, "--steps", "100000", "--log-every", "1", "--step-ms", "5")
        run.wait_for("step 3 ")
        run.ranks[0].kill()
        self.assertEqual(run.codes(), [-signal.SIGKILL, 1, 1])
        self.assertIn("rank 0 went away", run.err(1))
        self.assertIn("rank 0 went away", run.err(2))

    def test_a_planned_failure_fails_that_rank_and_only_in_the_first_attempt_when_asked(self):
        options = ("--steps", "8", "--fail-at-step", "5", "--fail-rank", "1", "--fail-once")
        run = self.run_ranks(2, *options, MUSTER_ATTEMPT="1")
        self.assertEqual(run.codes(), [1, 1])
        self.assertIn("RuntimeError: failing at step 5 on rank 1", run.err(1))
        self.finished(2, *options, MUSTER_ATTEMPT="2")

    def test_missing_ranks_are_named_when_they_do_not_come(self):
        run = self.run_ranks(4, "--connect-timeout", "0.5", only=[0])
        self.assertEqual(run.codes(), [1])
        self.assertIn("ranks [1, 2, 3] did not connect to 127.0.0.1:", run.err(0))

    def test_sigterm_while_waiting_for_the_others_ends_it(self):
        run = self.run_ranks(2, only=[1])
        # Ready to be stopped once it catches SIGTERM: the kernel shows the caught signals.
        status = Path(f"/proc/{run.ranks[1].pid}/status")
        until = time.monotonic() + DEADLINE
        while not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) >> 14 & 1:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        run.ranks[1].send_signal(signal.SIGTERM)
        self.assertEqual(run.codes(), [143])

    def test_a_taken_port_is_said_plainly(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            run = self.run_ranks(2, only=[0], MASTER_PORT=str(taken.getsockname()[1]))
            self.assertEqual(run.codes(), [1])
        self.assertIn("Address already in use; set MASTER_PORT to a free port", run.err(0))


if __name__ == "__main__":
    unittest.main()
