"""The few calls that the harness itself makes to the API server, over one kept connection."""

import http.client
import json
import ssl

from . import pki


class Refused(Exception):
    """The API server answered no; `status` is the HTTP status."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text[:600]}")
        self.status = status


class Api:
    def __init__(self, port, ca):
        self._port = port
        self._trust = ssl.create_default_context(cafile=ca)
        self._connection = None

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, path):
        return self.call("GET", path)

    def drain(self, path):
        """Bytes of an answer that nobody looks at."""
        answer = self._send("GET", path, None, "application/json")
        size = 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        return size

    def post(self, path, body):
        return self.call("POST", path, body)

    def call(self, method, path, body=None, kind="application/json"):
        """The parsed answer; raises Refused, or OSError when nobody answers."""
        is_kept = self._connection is not None
        try:
            answer = self._send(method, path, body, kind)
            text = answer.read().decode()
        except http.client.RemoteDisconnected as error:
            self.close()
            if not is_kept:
                raise ConnectionError(str(error)) from error
            return self.call(method, path, body, kind)  # it had rested for too long
        except (OSError, http.client.HTTPException) as error:
            self.close()  # the next call begins afresh
            raise error if isinstance(error, OSError) else ConnectionError(str(error)) from error
        if answer.status >= 300:
            raise Refused(answer.status, text)
        is_json = answer.getheader("Content-Type", "").startswith("application/json")
        return json.loads(text) if is_json else text

    def _send(self, method, path, body, kind):
        if self._connection is None:
            self._connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=30,
                                                           context=self._trust)
        headers = {"Authorization": f"Bearer {pki.TOKEN}", "Content-Type": kind}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        return self._connection.getresponse()

    # What tests and the harness both ask -------------------------------------------------------

    def answers(self, path):
        """Whether the path can be read, as a question to poll."""
        try:
            self.get(path)
            return True
        except (OSError, Refused):
            return False

    def ready_nodes(self, name_starts=""):
        """Names of the nodes a pod could go to: ready, and free of taints."""
        return [node["metadata"]["name"] for node in self.get("/api/v1/nodes?resourceVersion=0")["items"]
                if node["metadata"]["name"].startswith(name_starts) and is_open(node)]


def is_open(node):
    conditions = node.get("status", {}).get("conditions", [])
    return (any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
            and not node["spec"].get("taints"))
