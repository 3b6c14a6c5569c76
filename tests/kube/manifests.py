"""The objects that tests of the cluster make, as values. JSON, since YAML reads an `N` as a no."""

from . import images

REAL = {"muster.test/node": "real"}
FAKE = {"muster.test/node": "fake"}


def job(name, count, container, where, annotations=None, **spec):
    """An Indexed Job whose pods all run at once, one on each node if they can, and find each other
    as NAME-INDEX.NAME."""
    labels = {"muster.test/job": name}
    if "backoffLimitPerIndex" not in spec:
        spec["backoffLimit"] = 0
    spread = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    pod = {"restartPolicy": "Never", "nodeSelector": where, "subdomain": name, "containers": [container],
           "terminationGracePeriodSeconds": 1,
           "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [spread]}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completionMode": "Indexed", "completions": count, "parallelism": count,
                     "template": {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": pod},
                     **spec}}


def names(name):
    """The Service that gives a job's pods their names, before they are ready too."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"muster.test/job": name}}}


def shell(script, image=images.BUSYBOX):
    return {"name": "main", "image": image, "imagePullPolicy": "Never", "command": ["sh", "-ec", script]}


def program(image, *args):
    return {"name": "main", "image": image, "imagePullPolicy": "Never", "args": list(args)}
