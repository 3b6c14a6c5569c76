"""Service accounts with the roles that muster ships, as whoever runs a cluster would hand them out."""

import json
import os
import subprocess

from support.world import BINARY

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster:
    server: {server}
    certificate-authority: {ca}
users:
- name: account
  user:
    token: {token}
contexts:
- name: lab
  context: {{cluster: lab, user: account, namespace: {space}}}
current-context: lab
"""


def documents(*words):
    """What `muster cluster roles` prints."""
    done = subprocess.run([BINARY, "cluster", "roles", *words, "-o", "yaml"], capture_output=True, text=True,
                          timeout=60, check=True)
    return done.stdout


def make(cluster, space, roles, folder):
    """A kubeconfig of a new account of that namespace which has exactly these roles (none: all)."""
    name = "someone"
    cluster.kubectl("-n", space, "create", "serviceaccount", name)
    cluster.kubectl("apply", "-f", "-", input=documents(*roles, "--namespace", space, "--account", name))
    token = cluster.api.post(f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token",
                             {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                              "spec": {"expirationSeconds": 7200}})["status"]["token"]
    admin = json.loads(cluster.kubectl("config", "view", "-o", "json"))
    path = os.path.join(folder, space + ".kubeconfig")
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(KUBECONFIG.format(server=admin["clusters"][0]["cluster"]["server"], space=space, token=token,
                                     ca=cluster.file("pki/ca.crt")))
    return path
