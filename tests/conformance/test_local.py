"""The suite for all backends, on this machine."""

import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from conformance.scenarios import Scenarios, add_to, load  # noqa: E402
from support.world import ROOT, World  # noqa: E402


@add_to
class Local(Scenarios, World):
    backend = "local"
    code = "snapshot"
    config = "clusters:\n  local:\n    grace: 1s\n    nodes:\n      - {name: v, count: 2, cpus: 2, memory: 1G}\n"

    def play(self, scene):
        if "memory" in scene and not self.has_limits():
            self.skipTest("no cgroup is writable here: --memory is no limit")
        super().play(scene)

    def has_limits(self):
        checks = json.loads(self.muster("doctor", "-o", "json").stdout)["checks"]
        return any("cgroup v1" in json.dumps(check) and check["state"] == "ok" for check in checks)

    def lose_node(self, ident):
        os.kill(self.shims_of(ident)[-1], signal.SIGKILL)


class Documents(unittest.TestCase):
    def test_what_a_backend_is_not_asked_is_listed(self):
        with open(os.path.join(ROOT, "docs/reference/backends.md"), encoding="utf-8") as file:
            rows = {tuple(cell.strip() for cell in line.split("|")[1:4]) for line in file if line.startswith("|")}
        listed = {row for row in rows if row[1] in ("local", "sim", "kube")}
        self.assertEqual(listed, {(scene["name"], backend, why) for scene in load()
                                  for backend, why in scene.get("not_on", {}).items()})


if __name__ == "__main__":
    unittest.main(verbosity=2)
