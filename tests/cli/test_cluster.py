"""The verbs about clusters, as far as they need none."""

import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.world import World  # noqa: E402

KUBECONFIG = """
clusters: [{{name: a, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: me, user: {{token: x}}}}]
contexts: [{{name: lab, context: {{cluster: a, user: me}}}}]
current-context: lab
"""


class Cluster(World):
    config = "# mine\nclusters:\n  box: {gpus: 1}\n"

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.home, "config.yaml")

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def test_roles_are_documents_for_kubectl(self):
        items = json.loads(self.ok("cluster", "roles", "--namespace", "n", "--account", "a", "-o", "json"))["items"]
        self.assertEqual([item["kind"] for item in items],
                         ["Role", "Role", "ClusterRole", "RoleBinding", "RoleBinding", "ClusterRoleBinding"])
        rules = [rule for item in items for rule in item.get("rules", [])]
        self.assertNotIn("*", json.dumps(rules))
        self.assertEqual([rule["verbs"] for rule in rules if rule["resources"] == ["secrets"]], [["create", "patch", "delete"]])
        self.assertEqual(self.ok("cluster", "roles", "muster-exec").decode().count("kind: Role\n"), 1)

    def test_an_api_server_that_does_not_answer(self):
        with socket.socket() as door:  # bound, and nobody listens
            door.bind(("127.0.0.1", 0))
            kubeconfig = os.path.join(self.dir, "kubeconfig")
            self.write(kubeconfig, KUBECONFIG.format(port=door.getsockname()[1]))
            done = self.muster("cluster", "attach", "--kubeconfig", kubeconfig, "lab")
        self.assertEqual(done.returncode, 6, done)
        self.assertEqual(self.text(), self.config)

    def test_a_name_that_is_taken_is_told_before_anybody_is_asked(self):
        done = self.muster("cluster", "attach", "--context", "none", "box")
        self.assertEqual(done.returncode, 8, done)
        self.assertIn(b"--force", done.stderr)
        self.assertEqual(self.muster("cluster", "attach", "local").returncode, 2)

    def test_several_kubeconfigs_are_not_one(self):
        done = self.muster("cluster", "attach", "lab", env=dict(self.env, KUBECONFIG="/a:/b"))
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(b"--flatten", done.stderr)

    def test_list(self):
        self.assertEqual(self.ok("cluster", "list", "-o", "name"), b"local\nbox\n")

    def test_bad_requests(self):
        for words, code in ((["cluster"], 2), (["cluster", "nope"], 2), (["cluster", "attach"], 2),
                            (["cluster", "list", "--force"], 2), (["cluster", "roles", "admin"], 5),
                            (["cluster", "roles", "--account", "a"], 2), (["doctor", "--cluster", "nope"], 5)):
            self.assertEqual(self.muster(*words).returncode, code, words)


if __name__ == "__main__":
    unittest.main()
