"""A job stays where it was made, whatever its profile says later; and people who change its objects by hand do not make muster
lose it."""

import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.lab import Lab, OnCluster  # noqa: E402
from support.world import eventually  # noqa: E402

# Ends when it is told to by a file in the pod, so that a test decides when.
UNTIL_TOLD = "echo up; until [ -e /tmp/end ]; do sleep 0.1; done; echo told; exit 5"
# The first attempt waits to be disturbed; the second has all it needs.
ONCE_MORE = 'if [ $MUSTER_ATTEMPT = 1 ]; then echo first; while :; do sleep 0.1; done; fi; echo second'
lab = Lab()
setUpModule, tearDownModule = lab.start, lab.stop


class Places(OnCluster):
    lab = lab

    def runs(self, ident):
        self.wait_state(ident, "running", seconds=120)
        eventually("its first words", lambda: self.ok("logs", ident), 60)

    def configure(self, change):
        path = os.path.join(self.home, "config.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.write(path + ".new", change(text))
        os.rename(path + ".new", path)

    def pods(self):
        return json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]

    def tell_to_end(self, ident):
        for pod in self.pods():
            if pod["metadata"]["labels"]["muster.dev/job"] == ident:
                self.kubectl("exec", pod["metadata"]["name"], "--", "touch", "/tmp/end")

    def ends_as_told(self, ident):
        self.tell_to_end(ident)
        job = self.ended(ident)
        self.assertEqual((job["exit_code"], len(job["attempts"])), (5, 1), (job, self.ok("why", ident)))
        self.assertEqual(self.ok("logs", ident).decode(), "up\ntold\n")
        eventually("nothing of it is left in the cluster", lambda: not self.objects(), 60)


class Moved(Places):
    def test_a_profile_with_another_namespace_takes_no_job_away(self):
        ident = self.submit("--", "sh", "-c", UNTIL_TOLD)
        self.runs(ident)
        other = self.cluster.namespace("moved-to")
        self.configure(lambda text: text.replace("namespace: " + self.space, "namespace: " + other))
        there = self.submit("--", "true")
        self.assertEqual(self.ended(there)["state"], "succeeded")
        self.kill_server()
        self.ok("exec", ident, "--", "true")
        self.ends_as_told(ident)
        again = json.loads(self.ok("resubmit", "-o", "json", ident))["id"]
        self.assertEqual(self.job(again)["pod"]["namespace"], other)
        self.ok("abort", again)
        self.ended(again)

    def test_a_profile_that_is_gone_leaves_its_jobs_in_sight(self):
        ident = self.submit("--", "sh", "-c", UNTIL_TOLD)
        self.runs(ident)
        self.configure(lambda text: "default: local\n")
        self.kill_server()
        self.assertEqual(self.job(ident)["state"], "running")
        self.ends_as_told(ident)

    def test_a_profile_that_is_gone_does_not_keep_a_job_from_being_stopped(self):
        ident = self.submit("--", "sleep", "1000")
        self.wait_state(ident, "running", seconds=120)
        self.configure(lambda text: "default: local\n")
        self.kill_server()
        self.ok("abort", ident)
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("cancelled", "cancelled"), job)
        eventually("nothing of it is left in the cluster", lambda: not self.objects(), 60)

    def test_another_way_to_the_same_cluster_is_no_reason_to_sweep(self):
        ident = self.submit("--", "sh", "-c", UNTIL_TOLD)
        self.runs(ident)
        copy = os.path.join(self.dir, "kubeconfig-copy")
        shutil.copy(self.cluster.kubeconfig, copy)
        self.configure(lambda text: text.replace(self.cluster.kubeconfig, copy))
        # Longer than a server waits before it takes away what nobody knows.
        self.assertEqual(self.ended(self.submit("--cpus", "0.1", "--", "sleep", "70"), 240)["state"], "succeeded")
        self.assertEqual(self.job(ident)["state"], "running")
        self.ends_as_told(ident)


class Repaired(Places):
    """Who logs in again is known at once, without another server."""

    def setUp(self):
        super().setUp()
        self.own = os.path.join(self.dir, "kubeconfig")
        shutil.copy(self.cluster.kubeconfig, self.own)
        self.configure(lambda text: text.replace(self.cluster.kubeconfig, self.own))

    def test_a_kubeconfig_that_was_broken_is_read_again(self):
        with open(self.own, encoding="utf-8") as file:
            good = file.read()
        self.write(self.own, "not: [a kubeconfig")
        ident = self.submit("--", "true")
        eventually("it says what is wrong", lambda: b"kubeconfig" in self.ok("why", ident), 60)
        self.write(self.own, good)
        self.assertEqual(self.ended(ident)["state"], "succeeded")


class Meddled(Places):
    def test_a_pod_without_its_labels_is_ours_all_the_same(self):
        ident = self.submit("--", "sh", "-c", UNTIL_TOLD)
        self.runs(ident)
        name = self.pods()[0]["metadata"]["name"]
        self.kubectl("label", "pod", name, "muster.dev/home-", "muster.dev/cluster-")
        eventually("they are back", lambda: "muster.dev/home" in self.pods()[0]["metadata"]["labels"], 60)
        self.ends_as_told(ident)

    def test_a_job_without_its_labels_is_ours_all_the_same(self):
        ident = self.submit("--", "sh", "-c", UNTIL_TOLD)
        self.runs(ident)
        self.kubectl("label", "jobs", "--all", "muster.dev/home-")
        self.ends_as_told(ident)

    def test_a_suspended_job_is_preempted_and_queues_again(self):
        ident = self.submit("--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        name = self.kubectl("get", "jobs", "-o", "name").strip()
        self.kubectl("patch", name, "--type=merge", "-p", '{"spec":{"suspend":true}}')
        job = self.ended(ident)
        causes = [attempt["cause"] for attempt in job["attempts"]]
        self.assertEqual((job["state"], causes), ("succeeded", ["queue_preempted", "success"]), (job, self.ok("why", ident)))

    def test_pods_whose_job_was_deleted_without_them(self):
        ident = self.submit("--", "sh", "-c", UNTIL_TOLD)
        self.runs(ident)
        self.kubectl("delete", "jobs", "--all", "--cascade=orphan")
        self.ends_as_told(ident)


class Wiped(Places):
    infra = 1

    def test_a_gang_whose_pods_are_all_deleted_was_removed(self):
        ident = self.submit("--nodes", "2", "--cpus", "0.5", "--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        self.kubectl("delete", "pods", "--all", "--wait=false")
        job = self.ended(ident, 180)
        causes = [attempt["cause"] for attempt in job["attempts"]]
        self.assertEqual((job["state"], causes), ("succeeded", ["removed_externally", "success"]), (job, self.ok("why", ident)))

    def test_a_gang_of_which_one_pod_is_deleted_was_removed(self):
        ident = self.submit("--nodes", "2", "--cpus", "0.5", "--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        self.kubectl("delete", "pod", self.pods()[1]["metadata"]["name"], "--wait=false")
        job = self.ended(ident, 180)
        causes = [attempt["cause"] for attempt in job["attempts"]]
        self.assertEqual((job["state"], causes), ("succeeded", ["removed_externally", "success"]), (job, self.ok("why", ident)))

    def test_a_gang_of_which_one_pod_is_evicted(self):
        ident = self.submit("--nodes", "2", "--cpus", "0.5", "--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        self.evict_pods()
        job = self.ended(ident, 180)
        causes = [attempt["cause"] for attempt in job["attempts"]]
        self.assertEqual((job["state"], causes), ("succeeded", ["eviction", "success"]), (job, self.ok("why", ident)))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
