"""What muster would create on a cluster, judged by a real API server: strict, and without creating it."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from kube import requirements, versions  # noqa: E402
from kube.api import Refused  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from support.world import BINARY  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden", "kube")
WITHOUT_CLUSTER = requirements.for_control_plane(versions.chosen())
RESOURCES = {"Secret": "api/v1/{}/secrets", "Service": "api/v1/{}/services", "Job": "apis/batch/v1/{}/jobs",
             "Pod": "api/v1/{}/pods"}
STRICT = "?dryRun=All&fieldValidation=Strict&fieldManager=muster"
ENFORCE = "pod-security.kubernetes.io/enforce"
cluster = None


def setUpModule():
    global cluster
    if not WITHOUT_CLUSTER:
        cluster = Cluster().start()


def tearDownModule():
    if cluster:
        cluster.stop()
    if WITHOUT_CLUSTER:
        print(f"not run: the API server's judgement: {'; '.join(WITHOUT_CLUSTER)}", file=sys.stderr)


def golden(name):
    with open(os.path.join(GOLDEN, name + ".json"), encoding="utf-8") as file:
        return json.load(file)["items"]


def names():
    return sorted(os.path.basename(path)[:-len(".json")] for path in glob.glob(os.path.join(GOLDEN, "*.json")))


def try_out(document, space):
    """As it would be stored; raises Refused."""
    space = document["metadata"].get("namespace", space)
    path = "/" + RESOURCES[document["kind"]].format("namespaces/" + space)
    return cluster.api.post(path + STRICT, document)


def pod_of(items):
    """The first pod of the Job among them, as its controller would make it."""
    job = items[-1]
    template = job["spec"]["template"]
    return {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": template["metadata"] | {"name": job["metadata"]["name"] + "-0-abcde"}}


@unittest.skipIf(WITHOUT_CLUSTER, "; ".join(WITHOUT_CLUSTER))
class GoldenDocuments(unittest.TestCase):
    def test_there_are_documents_to_judge(self):
        self.assertGreaterEqual(len(names()), 9)

    def test_every_document_is_taken(self):
        for name in names():
            for document in golden(name):
                with self.subTest(name=name, kind=document["kind"]):
                    made = try_out(document, "default")
                    self.assertEqual(made["metadata"]["name"], document["metadata"]["name"])

    def test_nothing_was_dropped_on_the_way(self):
        for name in names():
            for document in golden(name):
                with self.subTest(name=name, kind=document["kind"]):
                    self.assert_within(document, try_out(document, "default"), document["kind"])

    def test_a_misspelt_field_would_have_been_refused(self):
        job = golden("single")[-1]
        job["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
        with self.assertRaises(Refused) as refused:
            try_out(job, "default")
        self.assertEqual(refused.exception.status, 400)

    def assert_within(self, sent, made, where):
        """Every value that was sent is in what came back; defaults may be added."""
        if isinstance(sent, dict):
            for key, value in sent.items():
                self.assertIn(key, made, where)
                self.assert_within(value, made[key], f"{where}.{key}")
        elif isinstance(sent, list):
            self.assertEqual(len(sent), len(made), where)
            for i, value in enumerate(sent):
                self.assert_within(value, made[i], f"{where}[{i}]")
        else:
            self.assertEqual(sent, made, where)


@unittest.skipIf(WITHOUT_CLUSTER, "; ".join(WITHOUT_CLUSTER))
class PodSecurity(unittest.TestCase):
    def space_that_enforces(self, level):
        space = cluster.namespace(f"enforces-{level}-{self.id().rsplit('.', 1)[1][-8:].strip('_')}".replace("_", "-"))
        cluster.kubectl("label", "namespace", space, f"{ENFORCE}={level}")
        return space

    def test_pods_are_let_in_where_their_standard_is_enforced(self):
        for level in ("restricted", "baseline"):
            with self.subTest(level=level):
                try_out(pod_of(golden(level)), self.space_that_enforces(level))

    def test_pods_that_follow_their_image_are_kept_out_of_a_restricted_namespace(self):
        with self.assertRaises(Refused) as refused:
            try_out(pod_of(golden("single")), self.space_that_enforces("restricted"))
        self.assertEqual(refused.exception.status, 403)


@unittest.skipIf(WITHOUT_CLUSTER, "; ".join(WITHOUT_CLUSTER))
class DryRun(unittest.TestCase):
    """The YAML that `submit --dry-run` prints is what kubectl and the API server take."""

    def shown(self, *args):
        with tempfile.TemporaryDirectory() as home:
            with open(os.path.join(home, "config.yaml"), "w", encoding="utf-8") as file:
                file.write("clusters: {k: {kind: kube, context: c, image: 'train:1', gpus_per_node: 8,"
                           " node_selector: {pool: 'on', size: '010', n: '1e3'}}}\n")
            done = subprocess.run([BINARY, "submit", "-c", "k", "--dry-run", "--show-secrets", *args, "true"],
                                  env=dict(os.environ, MUSTER_HOME=home), cwd=home, capture_output=True, text=True,
                                  timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def made_of(self, text):
        """What kubectl and the server make of it: the objects, in order."""
        rest = cluster.kubectl("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-",
                               input=text).lstrip()
        made = []
        while rest:
            one, end = json.JSONDecoder().raw_decode(rest)
            made += one["items"] if one["kind"] == "List" else [one]
            rest = rest[end:].lstrip()
        return made

    def test_kubectl_reads_the_yaml_as_it_was_meant(self):
        for args in ((), ("-n", "16", "--spot", "only"), ("--spot", "prefer", "-e", "N=y")):
            with self.subTest(args=args):
                job = self.made_of(self.shown("-o", "yaml", *args))[-1]
                self.assertEqual(job["kind"], "Job")
                self.assertEqual(job["spec"]["template"]["spec"]["nodeSelector"],
                                 {"pool": "on", "size": "010", "n": "1e3"})

    def test_json_is_a_list_of_the_same_documents(self):
        made = self.made_of(self.shown("-o", "json"))
        self.assertEqual([item["kind"] for item in made], ["Secret", "Secret", "Service", "Job"])


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
