"""A real Kubernetes on one machine, for tests: see docs/design/0008-test-cluster.md."""
