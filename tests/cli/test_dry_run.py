"""`submit --dry-run`: what would happen, shown; nothing stored, nothing started."""

import base64
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World  # noqa: E402

CONFIG = """
clusters:
  k: {kind: kube, context: c, image: "train:1", gpus_per_node: 8}
  nowhere: {kind: kube, image: "train:1"}
  bare: {kind: kube, context: c}
"""


class DryRun(World):
    config = CONFIG
    code = "snapshot"

    def dry(self, *args):
        return self.ok("submit", "--dry-run", *args).decode()

    def shown(self, *args):
        return json.loads(self.dry("-o", "json", *args))

    def assert_nothing_stored(self):
        self.assertEqual(os.listdir(self.home), ["config.yaml"])

    def test_a_local_job_is_shown_as_it_would_be_stored(self):
        spec = self.shown("--procs", "3", "--name", "try", "echo", "hi")
        self.assertEqual(spec["command"], ["echo", "hi"])
        self.assertEqual(spec["request"]["procs_per_node"], 3)
        self.assertNotIn("pod", spec)
        self.assertIn("name: try\n", self.dry("--name", "try", "true"))
        self.assert_nothing_stored()

    def test_a_gang_is_shown_as_documents(self):
        listed = self.shown("-c", "k", "-n", "16", "--memory", "64G", "python3", "train.py")
        kinds = [item["kind"] for item in listed["items"]]
        self.assertEqual((listed["kind"], kinds), ("List", ["Secret", "Secret", "Service", "Job"]))
        job = listed["items"][-1]
        self.assertEqual(job["metadata"]["name"], "m-00000000-0000-1")
        self.assertEqual(job["spec"]["completions"], 2)
        limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        self.assertEqual(limits, {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"})
        self.assert_nothing_stored()

    def test_yaml_has_one_document_after_the_other(self):
        text = self.dry("-c", "k", "-o", "yaml", "true")
        kinds = [line for line in text.splitlines() if line.startswith("kind:")]
        self.assertEqual(kinds, ["kind: Secret", "kind: Secret", "kind: Service", "kind: Job"])
        self.assertEqual(text.splitlines().count("---"), 3)

    def test_large_code_is_sent_not_put_into_a_secret(self):
        with open(os.path.join(self.dir, "data.bin"), "wb") as file:
            file.write(os.urandom(1 << 20))
        job = self.shown("-c", "k", "true")["items"][-1]
        names = [c["name"] for c in job["spec"]["template"]["spec"]["initContainers"]]
        self.assertEqual(names, ["agent", "code"])

    def test_secrets_show_their_size_unless_asked_for(self):
        args = ("-c", "k", "-e", "TOKEN=tok-123", "true")
        self.assertNotIn("tok-123", json.dumps(self.shown(*args)))
        data = self.shown(*args)["items"][0]["data"]["plan"]
        self.assertRegex(data, r"^\(\d+ bytes: --show-secrets shows them\)$")
        plan = base64.b64decode(self.shown("--show-secrets", *args)["items"][0]["data"]["plan"])
        self.assertIn(b"tok-123", plan)

    def test_what_cannot_be_is_refused_as_by_submit(self):
        for args, word in ((("-c", "nowhere"), "clusters.nowhere.context"), (("-c", "bare"), "--image"),
                           (("-c", "k", "--here"), "do not see this folder"), (("--image", "x"), "no Kubernetes"),
                           (("--show-secrets",), "--dry-run"), (("--spot", "maybe"), "prefer")):
            dry = () if "--show-secrets" in args else ("--dry-run",)
            done = self.muster("submit", *dry, *args, "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(word, done.stderr.decode())
        self.assertEqual(self.dry("-c", "bare", "--image", "x:1", "true").count("image: "), 2)


if __name__ == "__main__":
    unittest.main()
