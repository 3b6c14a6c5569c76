"""etcd, API server, controllers and scheduler: the control plane, all of it real."""

import ssl
import urllib.request

from . import versions

SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"  # the address by which pods know the API server
CONTROL = "10.200.0.1"     # where the control plane stands between the nodes

EVICTION = "5"


def grace(options):
    """How long a node may be silent. Losing a real one shows in seconds instead of minutes; of fake ones
    none is lost, and on a busy machine their heartbeats come late, all of them at once: a cluster that
    gives its nodes up while it starts their pods has them wait for one another."""
    if not options["fake_nodes"]:
        return "20s"
    return "40s" if options["real_nodes"] else "120s"


class ControlPlane:
    """Ports are a dict: api, etcd, peer, controllers, scheduler."""

    def __init__(self, programs, pki, folder, ports, options):
        self._programs = programs
        self._pki = pki
        self._folder = folder
        self._ports = ports
        self._options = options
        self._bind = "0.0.0.0" if options["real_nodes"] else "127.0.0.1"

    def start_store(self):
        client, peer = (f"http://127.0.0.1:{self._ports[name]}" for name in ("etcd", "peer"))
        self._start("etcd", "--name=m0", f"--data-dir={self._folder}/etcd", "--log-level=warn",
                    f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                    f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=m0={peer}", "--unsafe-no-fsync")
        self._programs.until("etcd", lambda: answers(client + "/health"))

    def start_api_server(self, api):
        path, port = self._pki.path, self._ports["api"]
        more = [f"--runtime-config={self._options['runtime_config']}"] if self._options["runtime_config"] else []
        self._start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self._ports['etcd']}",
                    f"--bind-address={self._bind}", f"--secure-port={port}", f"--advertise-address={CONTROL}",
                    f"--tls-cert-file={path('apiserver.crt')}", f"--tls-private-key-file={path('apiserver.key')}",
                    f"--client-ca-file={path('ca.crt')}", f"--token-auth-file={path('token.csv')}",
                    f"--kubelet-client-certificate={path('kubelet-client.crt')}",
                    f"--kubelet-client-key={path('kubelet-client.key')}",
                    f"--kubelet-certificate-authority={path('ca.crt')}",
                    "--kubelet-preferred-address-types=InternalIP",
                    "--service-account-issuer=https://kubernetes.default.svc",
                    f"--service-account-key-file={path('accounts.pub')}",
                    f"--service-account-signing-key-file={path('accounts.key')}",
                    "--authorization-mode=Node,RBAC", f"--service-cluster-ip-range={SERVICES}",
                    "--allow-privileged=true", "--endpoint-reconciler-type=none",
                    f"--default-not-ready-toleration-seconds={EVICTION}",
                    f"--default-unreachable-toleration-seconds={EVICTION}", *more, *self._gates())
        self._programs.until("kube-apiserver", lambda: api.answers("/readyz"))

    def start_controllers(self):
        path = self._pki.path
        self._start("kube-controller-manager", *self._client("controllers"), "--use-service-account-credentials",
                    f"--service-account-private-key-file={path('accounts.key')}",
                    f"--root-ca-file={path('ca.crt')}", f"--cluster-signing-cert-file={path('ca.crt')}",
                    f"--cluster-signing-key-file={path('ca.key')}",
                    f"--node-monitor-grace-period={grace(self._options)}", "--node-monitor-period=2s", *self._gates())
        self._start("kube-scheduler", *self._client("scheduler"), *self._gates())

    def await_controllers(self, api):
        for program, name in (("kube-controller-manager", "controllers"), ("kube-scheduler", "scheduler")):
            url = f"https://127.0.0.1:{self._ports[name]}/healthz"
            self._programs.until(program, lambda: answers(url))  # noqa: B023  # asked before the next
        # Pods are refused until the controllers have made the account they run as.
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._programs.until("kube-controller-manager", lambda: api.answers(account))

    def _start(self, name, *args):
        self._programs.start(name, [versions.program(name, self._options["version"]), *args])

    def _client(self, name):
        """What controllers and scheduler have in common. The default rates would make a thousand pods crawl."""
        config = self._pki.kubeconfig(self._pki.path(name + ".kubeconfig"), name,
                                      f"https://127.0.0.1:{self._ports['api']}")
        return [f"--kubeconfig={config}", f"--authentication-kubeconfig={config}",
                f"--authorization-kubeconfig={config}", "--bind-address=127.0.0.1",
                f"--secure-port={self._ports[name]}", "--leader-elect=false",
                "--kube-api-qps=500", "--kube-api-burst=1000"]

    def _gates(self):
        return [f"--feature-gates={self._options['gates']}"] if self._options["gates"] else []


def answers(url):
    """Whether a health page answers; who answers there is known, so no certificate is asked for."""
    blind = ssl.create_default_context()
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=5, context=blind) as page:
            return page.status == 200
    except OSError:
        return False
