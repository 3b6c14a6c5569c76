"""The server killed again and again while its jobs start, run and end on a cluster: the same ledger as on
one machine (tests/fault/test_storms.py)."""

import os
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.fake_jobs import SEED, FakeJobs, asked, replay, start_cluster, stop_cluster  # noqa: E402
from support.world import eventually  # noqa: E402

KILLS = asked("KILLS", 50)
AT_ONCE = 24


def setUpModule():
    start_cluster(fake_nodes=20)


def tearDownModule():
    stop_cluster("kills of the server")


class Kills(FakeJobs):
    def test_a_server_killed_at_random_loses_and_doubles_nothing(self):
        print(replay("test_kills", kills=KILLS), flush=True)
        rng, done, errors = random.Random(SEED), threading.Event(), []

        def submitter(lane):
            own = random.Random(f"{SEED}/{lane}")
            try:
                for number in range(lane, 10**9, 2):
                    if done.is_set():
                        return
                    flags = ("--nodes", "2") if own.random() < 0.15 else ()
                    self.submit_fake(number, own.randrange(100, 2500), *flags)
                    while not done.is_set() and len(self.unfinished_if_known()) > AT_ONCE:
                        time.sleep(0.1)
            except BaseException as error:  # told by the test's own thread
                errors.append(error)

        threads = [threading.Thread(target=submitter, args=(lane,)) for lane in range(2)]
        for thread in threads:
            thread.start()
        kills = 0
        while kills < KILLS and any(thread.is_alive() for thread in threads):
            time.sleep(rng.choice((0.05, 0.3, 0.8, 1.5)) * rng.random())  # when it strikes is the point
            kills += self.kill_server()
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(kills, KILLS)
        eventually("a server", lambda: self.muster("query").returncode == 0, 60)
        self.converge(180)
        self.check_ledger()
        print(f"{kills} kills, {len(self.ledger)} jobs: none lost, none twice, every exit code right", flush=True)

    def unfinished_if_known(self):
        try:
            return self.unfinished()
        except AssertionError:
            return []  # the server was killed under it


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
