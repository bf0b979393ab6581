"""A Kubernetes cluster for tests (API server, controllers, kubelet), and what is tested against it."""
