"""What really happened in a namespace: every Job and pod that ever was there, by a watch of our own,
straight to the API server and of metadata alone."""

import collections
import contextlib
import http.client
import json
import ssl
import threading

from . import pki
from .api import Api

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
INDEX = "batch.kubernetes.io/job-completion-index"


class Audit:
    """`jobs`: name -> uids that it ever had; `pods`: (Job, index) -> uids. Begins with an empty namespace."""

    def __init__(self, cluster, space):
        self._port, self._ca = cluster.state["port"], cluster.file("pki/ca.crt")
        self.jobs = collections.defaultdict(set)
        self.pods = collections.defaultdict(set)
        self.trouble = None  # why it cannot be believed
        self._present = {}   # (kind, uid) -> name
        self._is_over = False
        self._threads = []
        api = Api(self._port, self._ca)
        for kind, path in (("job", f"/apis/batch/v1/namespaces/{space}/jobs"), ("pod", f"/api/v1/namespaces/{space}/pods")):
            version = api.get(path + "?limit=1")["metadata"]["resourceVersion"]
            thread = threading.Thread(target=self._follow, args=(kind, path, version), daemon=True)
            thread.start()
            self._threads.append(thread)
        api.close()

    def stop(self):
        self._is_over = True

    @property
    def left(self):
        """Names of what is there now."""
        return sorted(self._present.copy().values())

    def duplicates(self):
        """Attempts, and ranks of them, that were made more than once."""
        return {name: uids for made in (self.jobs, self.pods) for name, uids in made.copy().items() if len(uids) > 1}

    def _follow(self, kind, path, version):
        while not self._is_over:
            try:
                for event in self._watch(f"{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}"):
                    if event["type"] == "ERROR":
                        self.trouble = f"the audit's own watch broke: {event['object']}"
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._note(kind, event["type"], event["object"]["metadata"])
            except (OSError, http.client.HTTPException):
                continue  # the server was restarted; it goes on from the version

    def _watch(self, path):
        trust = ssl.create_default_context(cafile=self._ca)
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=120, context=trust)
        connection.request("GET", path, headers={"Authorization": f"Bearer {pki.TOKEN}", "Accept": METADATA})
        answer = connection.getresponse()
        if answer.status != 200:
            self.trouble = f"the audit was refused: {answer.status} {answer.read()[:300]}"
            self._is_over = True
            return
        with contextlib.closing(connection):
            for line in answer:
                yield json.loads(line)

    def _note(self, kind, type_, meta):
        if type_ == "DELETED":
            self._present.pop((kind, meta["uid"]), None)
            return
        self._present[(kind, meta["uid"])] = meta["name"]
        if kind == "job":
            self.jobs[meta["name"]].add(meta["uid"])
        else:
            self.pods[(meta["labels"]["batch.kubernetes.io/job-name"], meta["annotations"][INDEX])].add(meta["uid"])
