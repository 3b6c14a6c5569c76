"""./dev kube: build, bring up, look at and take down test clusters by hand."""

import argparse
import os
import sys

from . import build, cluster, requirements, sweep, versions


def say(text):
    print(f"kube: {text}", flush=True)


def build_all(args):
    for version in args.versions or [versions.chosen()]:
        build.build(version, say)
        say(f"Kubernetes {version} is built")


def up(args):
    build.build(versions.chosen(), say)
    reasons = requirements.for_real_nodes() if args.nodes else []
    for reason in reasons:
        say(f"without real nodes: {reason}")
    made = cluster.Cluster(real_nodes=0 if reasons else args.nodes, fake_nodes=args.fake)
    made.start(is_held=False)
    steps = ", ".join(f"{step} {seconds} s" for step, seconds in made.seconds.items())
    say(f"Kubernetes {made.state['version']} is up ({steps})")
    print(f"  export KUBECONFIG={made.kubeconfig}\n"
          f"  export PATH=$PATH:{os.path.dirname(versions.program('kubectl', made.state['version']))}\n"
          f"  kubectl get nodes\n"
          f"take it down: ./dev kube down {made.name}")


def down(args):
    for name in args.names or [name for name in sweep.names() if not is_held(name)]:
        cluster.end(name)
        say(f"{name} is down")
    for name in sweep.clean_dead():
        say(f"removed what {name} had left")


def is_held(name):
    """Whether it belongs to a test that runs: that one ends it, or its name must be said."""
    return sweep.keeper_of(name) is not None and (cluster.read_json(name, "pids.json") or {}).get("is_held", True)


def status(args):
    found = sweep.names()
    for name in found:
        keeper = sweep.keeper_of(name)
        state = cluster.read_json(name, "state.json") or {"phase": "starting"}
        if keeper is None:
            print(f"{name}  dead; ./dev kube down removes what is left")
            continue
        owner = ", of a test" if is_held(name) else ""
        print(f"{name}  {state['phase']}{owner}, Kubernetes {state.get('version', '?')}, keeper {keeper}")
        if state["phase"] == "ready":
            print(f"  kubeconfig {os.path.join(sweep.state_root(), name, 'kubeconfig')}")
            print(f"  nodes      {len(state['real_nodes'])} real, {state['fake_nodes']} fake")
            for program, fact in cluster.ask(name, "programs").items():
                print(f"  {program:<24} {'runs' if 'pid' in fact else 'ended with %s' % fact['exit']}")
    if not found:
        print("no test cluster runs")


def list_versions(args):
    print("\n".join(versions.KUBERNETES))


def built(args):
    sys.exit(1 if build.missing(versions.chosen()) else 0)


def pin(args):
    build.pin(say)


def lacking(args):
    """What the suite leaves out here, a line each, for the end of ./dev test."""
    for reason in requirements.for_control_plane(versions.chosen()):
        print(f"test cluster: {reason}")
    for reason in requirements.for_real_nodes():
        print(f"test cluster, real nodes: {reason}")


def main():
    parser = argparse.ArgumentParser(prog="./dev kube", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("build", help="build the programs into the cache")
    verb.add_argument("versions", nargs="*", choices=[*versions.KUBERNETES, []], metavar="VERSION")
    verb.set_defaults(run=build_all)
    verb = verbs.add_parser("up", help="bring a cluster up; it stays until it is taken down")
    verb.add_argument("--nodes", type=int, default=2, help="real nodes, with containers (2)")
    verb.add_argument("--fake", type=int, default=0, help="fake nodes of 8 GPUs (0)")
    verb.set_defaults(run=up)
    verb = verbs.add_parser("down", help="take clusters down, and sweep up after dead ones")
    verb.add_argument("names", nargs="*", metavar="NAME")
    verb.set_defaults(run=down)
    verbs.add_parser("status", help="what runs").set_defaults(run=status)
    verbs.add_parser("lacking", help="what this machine lacks").set_defaults(run=lacking)
    verbs.add_parser("built", help="exit 0 when the programs are there").set_defaults(run=built)
    verbs.add_parser("versions", help="the pinned versions of Kubernetes").set_defaults(run=list_versions)
    verbs.add_parser("pin", help="write go.mod and go.sum after a change of versions.py").set_defaults(run=pin)
    args = parser.parse_args()
    try:
        args.run(args)
    except (build.Broken, build.go.NoGo, cluster.NotUp) as error:
        sys.exit(f"kube: {error}")


if __name__ == "__main__":
    main()
