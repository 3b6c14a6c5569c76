"""The proxy that breaks things, by itself: each kind of fault does what it says, and only as often."""

import http.client
import http.server
import json
import os
import ssl
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import faults  # noqa: E402
from kube.fault_proxy import FaultProxy, Request  # noqa: E402
from kube.pki import Pki  # noqa: E402
from kube.wire import Message  # noqa: E402

JOBS = "/apis/batch/v1/namespaces/n/jobs"
BODY = json.dumps({"kind": "Job", "padding": "x" * 2000}).encode()


def event(name, version):
    return json.dumps({"type": "ADDED", "object": {"metadata": {"name": name, "resourceVersion": str(version)}}}).encode() + b"\n"


class Upstream(http.server.BaseHTTPRequestHandler):
    """An API server of few words: a body for everything, three events for a watch."""

    protocol_version = "HTTP/1.1"
    events = [event("a", 1), event("b", 2), event("a", 3)]

    def do_GET(self):
        self.server.heard.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_watch = "watch=true" in self.path
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header(*(("Transfer-Encoding", "chunked") if is_watch else ("Content-Length", str(len(BODY)))))
        self.end_headers()
        for part in self.events if is_watch else []:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n" if is_watch else BODY)

    do_POST = do_GET

    def log_message(self, *_):
        pass


class Certain(faults.Faults):
    """One kind, at the first occasion."""

    def __init__(self, kind):
        super().__init__(1, 1, of_requests=1, of_events=1)
        self.kind = kind

    def pick(self, sort, kinds, rate="request"):
        return super().pick(sort, {self.kind}, rate) if self.kind in kinds else (None, None)


class TheProxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        Pki(os.path.join(cls.folder.name, "pki")).make(["127.0.0.1"], {})
        cls.trust = ssl.create_default_context(cafile=cls.file("pki/ca.crt"))
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(cls.file("pki/apiserver.crt"), cls.file("pki/apiserver.key"))
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
        cls.server.socket = own.wrap_socket(cls.server.socket, server_side=True)
        cls.server.daemon_threads = True
        cls.state = {"port": cls.server.server_address[1]}
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.folder.cleanup()

    @classmethod
    def file(cls, name):
        return os.path.join(cls.folder.name, name)

    def through(self, kind, path=JOBS, method="POST"):
        """(what the first request comes to, what the second does, whether the first was carried out)"""
        self.server.heard = []
        with FaultProxy(self, Certain(kind)) as proxy:
            said = [self.call(proxy.port, method, path)]
            was_heard = len(self.server.heard) == 1
            said.append(self.call(proxy.port, method, path))
            self.assertEqual(dict(proxy.faults.counts), {kind: 1})
        return (*said, was_heard)

    def call(self, port, method, path):
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=self.trust)
        try:
            connection.request(method, path, b"{}" if method == "POST" else None)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__, None
        finally:
            connection.close()

    def test_refusals_do_not_reach_the_server(self):
        for kind in ("429", "500", "503"):
            first, second, was_heard = self.through(kind)
            self.assertEqual((first[0], was_heard, second), (int(kind), False, (200, BODY)))
            self.assertEqual(json.loads(first[1])["kind"], "Status")

    def test_a_connection_dies_before_or_after_the_request_was_carried_out(self):
        for kind, is_heard in (("reset before", False), ("reset after", True)):
            first, second, was_heard = self.through(kind)
            self.assertIn(first[0], ("ConnectionResetError", "RemoteDisconnected", "SSLEOFError"))
            self.assertEqual((was_heard, second), (is_heard, (200, BODY)), kind)

    def test_a_cut_body_is_shorter_than_it_says(self):
        first, second, was_heard = self.through("cut")
        self.assertIn(first[0], ("IncompleteRead", "ConnectionResetError", "SSLEOFError"))
        self.assertTrue(was_heard)
        self.assertEqual(second, (200, BODY))

    def test_a_slow_answer_comes(self):
        self.assertEqual(self.through("slow"), ((200, BODY), (200, BODY), True))

    def watched(self, kind):
        first, second, _ = self.through(kind, JOBS + "?watch=true", "GET")
        self.assertEqual(second, (200, b"".join(Upstream.events)))
        return first

    def test_an_expired_version_is_told_by_http(self):
        self.assertEqual(self.watched("410")[0], 410)

    def test_events_are_left_out_doubled_and_put_out_of_order(self):
        a, b, again = Upstream.events
        self.assertEqual(self.watched("dropped")[1], b + again)
        self.assertEqual(self.watched("reordered")[1], b + a + again)
        self.assertEqual(self.watched("duplicated")[1], a + a + b + again)

    def test_a_stream_that_is_cut_or_expires_does_not_end_well(self):
        for kind in ("cut event", "ERROR 410"):
            self.assertIsNone(self.watched(kind)[1], kind)

    def test_requests_are_told_apart_by_what_they_are_about(self):
        def sort(line):
            return Request(Message(f"{line} HTTP/1.1\r\n\r\n".encode()), b"").sort
        self.assertEqual(sort(f"POST {JOBS}"), "POST jobs")
        self.assertEqual(sort(f"GET {JOBS}?watch=true&x=1"), "WATCH jobs")
        self.assertEqual(sort("GET /api/v1/namespaces/n/pods/p/log?follow=true"), "GET pods/log")
        self.assertEqual(sort("GET /api/v1/namespaces/n"), "GET namespaces")

    def test_the_same_seed_meets_the_same_faults(self):
        def course(seed):
            one = faults.Faults(seed, 50)
            return [one.pick("POST jobs", faults.OF_REQUESTS)[0] for _ in range(100)]
        self.assertEqual(course(7), course(7))
        self.assertNotEqual(course(7), course(8))


if __name__ == "__main__":
    unittest.main(verbosity=2)
