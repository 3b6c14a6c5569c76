"""Keys, certificates and kubeconfigs of one cluster: its own authority, thrown away with it."""

import base64
import os
import subprocess

TOKEN = "muster-test-token"
CONFIG = "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\n"
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "30"]


class Pki:
    """Files in one folder: NAME.crt and NAME.key for each identity, signed by ca.crt."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, addresses, nodes):
        """`addresses`: of the API server; `nodes`: name -> address of the real ones."""
        os.makedirs(self.folder, mode=0o700)
        self._write("openssl.cnf", CONFIG)
        self._write("token.csv", f'{TOKEN},tester,u1,"system:masters"\n')
        wait(self._authority())
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        san = ",".join([f"DNS:{name}" for name in names] + [f"IP:{ip}" for ip in addresses])
        made = [self._leaf("apiserver", "/CN=kube-apiserver", "serverAuth", san),
                self._leaf("admin", "/O=system:masters/CN=admin"),
                self._leaf("controllers", "/CN=system:kube-controller-manager"),
                self._leaf("scheduler", "/CN=system:kube-scheduler"),
                self._leaf("kubelet-client", "/O=system:masters/CN=apiserver-kubelet"),
                openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-out", self.path("accounts.key"))]
        for node, address in nodes.items():
            made.append(self._leaf(node, f"/O=system:nodes/CN=system:node:{node}",
                                   "serverAuth,clientAuth", f"DNS:{node},IP:{address}"))
        wait(*made)
        wait(openssl("pkey", "-in", self.path("accounts.key"), "-pubout", "-out", self.path("accounts.pub")))

    def kubeconfig(self, target, identity, server, context="muster"):
        """A file that stands alone, as cloud providers hand them out. Two contexts: by certificate
        (`muster`) and by token (`token`); `context` is the one that is used."""
        text = KUBECONFIG.format(server=server, context=context, ca=self._base64("ca.crt"), token=TOKEN,
                                 cert=self._base64(identity + ".crt"), key=self._base64(identity + ".key"))
        with open(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(text)
        return target

    def _authority(self):
        return openssl("req", "-x509", *NEW_KEY, "-config", self.path("openssl.cnf"), "-subj", "/CN=muster-test",
                       "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"),
                       "-addext", "basicConstraints=critical,CA:TRUE",
                       "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def _leaf(self, name, subject, usage="clientAuth", san=""):
        more = ["-addext", f"subjectAltName={san}"] if san else []
        return openssl("req", "-x509", *NEW_KEY, "-config", self.path("openssl.cnf"), "-subj", subject,
                       "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                       "-keyout", self.path(name + ".key"), "-out", self.path(name + ".crt"),
                       "-addext", "basicConstraints=critical,CA:FALSE",
                       "-addext", "keyUsage=critical,digitalSignature",
                       "-addext", f"extendedKeyUsage={usage}", *more)

    def _write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def _base64(self, name):
        with open(self.path(name), "rb") as file:
            return base64.b64encode(file.read()).decode()


def openssl(*args):
    """Started, not waited for: the keys are made side by side."""
    return subprocess.Popen(["openssl", *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def wait(*processes):
    for process in processes:
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(process.args[:2])} failed: {errors.decode()[-500:]}")


KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: muster-test
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: certificate
  user:
    client-certificate-data: {cert}
    client-key-data: {key}
- name: token
  user:
    token: {token}
contexts:
- name: muster
  context: {{cluster: muster-test, user: certificate}}
- name: token
  context: {{cluster: muster-test, user: token}}
current-context: {context}
"""
