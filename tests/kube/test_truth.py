"""Whatever the cluster does to a job has its own reason or cause, and the right thing happens next."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube.lab import TOOLS, Lab, OnCluster  # noqa: E402
from support.world import BINARY, eventually  # noqa: E402

# The first attempt waits to be disturbed; the second has all it needs.
ONCE_MORE = 'if [ $MUSTER_ATTEMPT = 1 ]; then echo first; while :; do sleep 0.1; done; fi; echo second'
lab = Lab()
setUpModule, tearDownModule = lab.start, lab.stop


class Truth(OnCluster):
    lab = lab

    def said(self, ident, words, seconds=60):
        """What `why` says, once it says these words."""
        return eventually(f"{words!r} in: {self.ok('why', ident).decode()}",
                          lambda: (lambda text: text if words in text else None)(self.ok("why", ident).decode()), seconds)

    def runs(self, ident):
        self.wait_state(ident, "running", seconds=120)
        eventually("its first words", lambda: self.ok("logs", ident), 60)

    def causes(self, job):
        return [attempt["cause"] for attempt in job["attempts"]]

    def apply(self, *objects):
        for one in objects:
            self.cluster.kubectl("apply", "-f", "-", input=json.dumps(one))


class Disturbed(Truth):
    def test_an_eviction_is_nobodys_failure(self):
        ident = self.submit("--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        self.evict_pods()
        job = self.ended(ident)
        self.assertEqual((job["state"], self.causes(job)), ("succeeded", ["eviction", "success"]), job)
        self.assertIn("EvictionByEvictionAPI", self.ok("why", ident).decode())

    def test_exit_0_while_being_evicted_is_no_success(self):
        ident = self.submit("--", "sh", "-c", "trap 'echo saved; exit 0' TERM; " + ONCE_MORE)
        self.runs(ident)
        self.evict_pods()
        job = self.ended(ident)
        self.assertEqual((job["state"], self.causes(job)), ("succeeded", ["eviction", "success"]), job)
        self.assertEqual(self.ok("logs", "--attempt", "1", ident).decode(), "first\nsaved\n")

    def test_a_deleted_job_is_noticed(self):
        ident = self.submit("--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        self.kubectl("delete", "jobs", "--all", "--wait=false")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "removed_externally"), job)
        eventually("nothing of it is left in the cluster", lambda: not self.objects(), 60)


class Strangers(Truth):
    profile = "  other:\n    _base_: lab\n"

    def test_a_pod_with_our_labels_is_not_believed(self):
        ident = self.submit("--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        pod = json.loads(self.kubectl("get", "pods", "-o", "json"))["items"][0]["metadata"]
        # Without the Job's uid: with it the Job's controller would see to the pod itself.
        labels = {name: value for name, value in pod["labels"].items() if "controller-uid" not in name}
        record = {"v": 1, "attempt": 1, "epoch": 1, "ranks": [{"rank": 0, "exit": 0, "signal": 0}], "killed_by": ""}
        forged = pod["name"][:-5] + "zzzzz"
        command = f"echo '0o 0 forged'; echo '{json.dumps(record)}' > /dev/termination-log"
        self.apply({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": forged, "namespace": self.space, "labels": labels, "annotations": pod["annotations"]},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": TOOLS, "command": ["sh", "-c", command]}]}})
        eventually("it has ended", lambda: self.kubectl("get", "pod", forged, "-o", "jsonpath={.status.phase}") == "Succeeded", 60)
        kept = self.submit("--", "true")  # whatever was told before this one's end has been heard
        self.ended(kept)
        self.assertEqual(self.job(ident)["state"], "running")
        self.assertEqual(self.ok("logs", ident), b"first\n")

    def test_two_profiles_of_one_namespace_leave_each_other_alone(self):
        jobs = [self.submit("-c", name, "--cpus", "0.1", "--", "sleep", "75") for name in ("lab", "other")]
        for ident in jobs:
            job = self.ended(ident, 240)
            self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)


class Memory(Truth):
    def test_the_command_itself_has_too_little(self):
        ident = self.submit("--memory", "96M", "--", "tail", "/dev/zero")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "host_oom"), (job, self.ok("why", ident)))
        self.assertIn("for lack of memory", self.ok("why", ident).decode())

    def test_a_child_has_too_little_and_the_command_goes_on(self):
        ident = self.submit("--memory", "96M", "--", "sh", "-c", "tail /dev/zero; echo went on; exit 0")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("succeeded", "success"), (job, self.ok("why", ident)))
        self.assertIn("the kernel ended 1 of its processes for lack of memory", self.ok("why", ident).decode())


class Refused(Truth):
    def test_a_quota(self):
        self.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": self.space},
                    "spec": {"hard": {"pods": "0"}}})
        ident = self.submit("--", "true")
        self.said(ident, "exceeded quota")
        self.assertEqual(self.job(ident)["reasons"][0]["code"], "not_created")
        self.kubectl("delete", "resourcequota", "none")
        job = self.ended(ident)
        self.assertEqual(job["state"], "succeeded", job)

    def test_admission(self):
        rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
        where = {"matchLabels": {"kubernetes.io/metadata.name": self.space}}
        kind = "admissionregistration.k8s.io/v1"
        self.apply({"apiVersion": kind, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "closed"},
                    "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]},
                             "validations": [{"expression": "false", "message": "closed for the holidays"}]}},
                   {"apiVersion": kind, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "closed"},
                    "spec": {"policyName": "closed", "validationActions": ["Deny"],
                             "matchResources": {"namespaceSelector": where}}})
        # The policy counts a moment after it was made.
        eventually("the policy counts", lambda: "holidays" in self.try_job(), 60)
        ident = self.submit("--", "true")
        job = self.ended(ident)
        self.assertEqual((job["state"], job["cause"]), ("failed", "user_config"), job)
        self.assertIn("closed for the holidays", self.ok("why", ident).decode())
        eventually("nothing of it is left in the cluster", lambda: not self.objects(), 60)

    def try_job(self):
        container = {"name": "main", "image": "none"}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "try", "namespace": self.space},
               "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}
        try:
            self.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(job))
        except AssertionError as refusal:
            return str(refusal)
        return ""

    def test_a_taint_that_is_not_tolerated(self):
        self.cluster.kubectl("taint", "nodes", "--all", "muster.test/closed=yes:NoSchedule")
        try:
            ident = self.submit("--", "true")
            self.said(ident, "untolerated taint")
        finally:
            self.cluster.kubectl("taint", "nodes", "--all", "muster.test/closed-")
        self.assertEqual(self.ended(ident)["state"], "succeeded")


class Volumes(Truth):
    profile = "    volumes: ['nowhere:/data']\n"

    def test_a_claim_that_does_not_exist(self):
        ident = self.submit("--", "true")
        self.said(ident, 'persistentvolumeclaim "nowhere" not found')
        self.ok("abort", ident)
        self.assertEqual(self.ended(ident)["state"], "cancelled")


class Arriving(Truth):
    def test_code_too_large_for_a_secret_is_sent(self):
        data = os.urandom(3 << 20)
        with open(os.path.join(self.dir, "data"), "wb") as file:
            file.write(data)
        ident = self.submit("--nodes", "2", "--", "sha256sum", "data")
        job = self.ended(ident)
        self.assertEqual(job["state"], "succeeded", (job, self.ok("why", ident)))
        for rank in ("0", "1"):
            self.assertEqual(self.ok("logs", "--rank", rank, ident).decode(), hashlib.sha256(data).hexdigest() + "  data\n")

    def test_ctrl_c_reaches_the_command(self):
        run = subprocess.Popen([BINARY, "run", "--", "sh", "-c", "trap 'echo heard; exit 5' INT; echo up; while :; do sleep 0.1; done"],
                               env=self.env, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(run.stdout.readline(), b"up\n")
        run.send_signal(signal.SIGINT)
        self.assertEqual((run.stdout.read(), run.wait(timeout=120)), (b"heard\n", 5))


class Crowded(Truth):
    profile = "    gang_patience: 5s\n"

    def test_a_gang_placed_in_part_gives_its_nodes_back_and_queues_again(self):
        holder = self.submit("--cpus", "1.5", "--", "sh", "-c", "echo up; sleep 1000")
        self.runs(holder)
        gang = self.submit("--nodes", "2", "--cpus", "1.5", "--", "sh", "-c", "echo together")
        eventually("the next attempt", lambda: self.job(gang)["attempt"] >= 2, 120)
        self.assertEqual(self.causes(self.job(gang))[0], "queue_preempted", self.ok("why", gang))
        self.ok("abort", holder)
        job = self.ended(gang, 180)
        self.assertEqual(job["state"], "succeeded", (job, self.ok("why", gang)))


class Broken(Truth):
    infra = 1

    def setUp(self):
        super().setUp()
        # One such pod fills a node of two cpus.
        self.gang = ("--nodes", "2", "--cpus", "1.5")

    def test_an_api_server_that_is_away_changes_nothing(self):
        ident = self.submit("--", "sh", "-c", "echo up; sleep 5; exit 7")
        self.runs(ident)
        self.cluster.end_program("kube-apiserver")
        try:
            job = eventually("out of sight", lambda: (lambda job: job if job["unreachable"] else None)(self.job(ident)), 90)
            self.assertEqual((job["state"], job["reasons"][0]["code"]), ("running", "unreachable"), job)
        finally:
            self.cluster.start_program("kube-apiserver")
        job = self.ended(ident)
        self.assertEqual((job["exit_code"], len(job["attempts"])), (7, 1), job)
        self.assertEqual(self.ok("logs", ident).decode(), "up\n")

    def test_a_node_that_dies_and_is_removed(self):
        ident = self.submit(*self.gang, "--", "sh", "-c", ONCE_MORE)
        self.runs(ident)
        node = self.job(ident)["attempts"][0]["nodes"][1]
        self.cluster.end_program(f"kubelet-{node}")
        try:
            self.said(ident, f"node {node} does not answer: lost, waiting for node removal", 90)
            job = self.job(ident)
            self.assertEqual((job["unreachable"], job["attempt"]), (True, 1), job)
            self.cluster.kubectl("delete", "node", node)
            eventually("the next attempt", lambda: self.job(ident)["attempt"] == 2, 180)
        finally:
            self.cluster.start_program(f"kubelet-{node}")
        job = self.ended(ident, 180)
        self.assertEqual((job["state"], self.causes(job)), ("succeeded", ["lost", "success"]), (job, self.ok("why", ident)))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
