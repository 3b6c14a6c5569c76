"""Names of pods: CoreDNS as a plain process beside the control plane, no image, no kube-proxy."""

from . import versions
from .control_plane import CONTROL, answers

# No cache: a peer that has just come must be found. What is not ours does not exist, and is said to
# not exist at once; that is a server of its own because `template` would answer before `kubernetes`.
CONFIG = """cluster.local:53 in-addr.arpa:53 {{
  bind {address}
  errors
  ready {address}:8181
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {kubeconfig} muster
    ttl 0
  }}
}}
.:53 {{
  bind {address}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def start(programs, folder, kubeconfig, version):
    path = f"{folder}/Corefile"
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(address=CONTROL, kubeconfig=kubeconfig))
    programs.start("coredns", [versions.program("coredns", version), "-conf", path])


def await_ready(programs):
    programs.until("coredns", lambda: answers(f"http://{CONTROL}:8181/ready"))
