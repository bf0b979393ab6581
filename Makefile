VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: setup demo bench test test-slow kube-apiserver lint schemas rights dashboards cluster-secrets machine-secrets admission-certificate clean
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "keepstep needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[services,redis,kubernetes,notify,console,traces,torch,dev]'
	touch $@

# A real DDP run that loses a rank, freezes one and loses a node, compared with an undisturbed run.
demo: setup
	$(BIN)/python -m keepstep.cli.demo

# The figures of the README, as Markdown, in about fifteen minutes; the machine should have nothing else to do.
bench: setup
	@missed=0; for figures in step_mark diagnoser_throughput chain recovery hang refill console; do \
		$(BIN)/python -m benchmarks.$$figures || missed=1; done; exit $$missed

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Ten thousand tests, hundreds of them with real processes in real time: one that fails is tried once more, and the
# summary names it. That is no pass to be content with: what fails now and then has a race, in it or in what it tests.
test: lint
	$(BIN)/pytest -m "not slow" -n auto --maxprocesses 8 --reruns 1 -rR --durations 30

# Whole jobs through whole faults: real training, killed services, long outages. On a machine whose cores are shared a
# bound can be missed for no fault of ours: a failure is tried again, twice at most, and the summary names what needed it.
# Real trainings run one after the other, all else side by side, a fifth of them each day and another the next.
# KEEPSTEP_TEST_SHARE=1 runs all, strikes at every cut point and takes every level of every kind of job on Kubernetes.
test-slow: setup
	$(BIN)/pytest -m "slow and not system" -n auto --maxprocesses 8 --reruns 2 -rR
	$(BIN)/pytest -m "slow and system" --reruns 2 -rR --durations 30 $(PYTEST_ARGS)

# The tests of the Kubernetes adapters on a real API server, which is built first (Debian's source, half an hour).
kube-apiserver: setup
	$(BIN)/python -m tests.kube.real $(PYTEST_ARGS)

# What is on the wire, drawn from the contracts; a test fails while the folder is behind.
schemas: setup
	$(BIN)/python -m keepstep.cli.schemas schemas

# What each user of a bus may do, drawn from who says what; a test fails while the files are behind.
# A bus of other pools: make rights POOLS="default blue", and the same with cluster-secrets.
POOLS := default
rights: setup
	$(BIN)/python -m keepstep.runtime.nats_users $(POOLS:%=--pool %) > k8s/base/users.conf
	$(BIN)/python -m keepstep.runtime.nats_users --machine $(POOLS:%=--pool %) > deploy/users.conf

# Grafana's dashboard, and the alerts of deploy/prometheus as a cluster's Prometheus operator reads them.
dashboards: setup
	$(BIN)/python -m keepstep.cli.monitoring .

# Passwords and certificates of a cluster's bus and store, into a file that its owner alone reads; nothing is printed.
cluster-secrets: setup
	$(BIN)/python -m keepstep.cli.cluster_secrets $(POOLS:%=--pool %) build/secrets

# Passwords of docker-compose.yml's bus, into a file that its owner alone reads; without it all are "change-me".
machine-secrets: setup
	$(BIN)/python -m keepstep.cli.machine_secrets .env

# A certificate for the webhook, on the cluster of the current context; again to renew it.
admission-certificate: setup
	$(BIN)/python -m keepstep.cli.admission_certificate

clean:
	rm -rf $(VENV)
