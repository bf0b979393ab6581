"""Findings of what is no exit: lost tasks, stalls, silence, devices, nodes, lines of a rule."""

import pytest

from keepstep.contracts.events import (
    DeviceEvidence,
    LogEvidence,
    LossEvidence,
    NodeEvidence,
    SilenceEvidence,
    StallEvidence,
    UnkillableEvidence,
)
from keepstep.contracts.taxonomy import Category, LossCause, StallSign
from keepstep.contracts.topology import Culprit
from keepstep.diagnosis.finding import Weight
from keepstep.diagnosis.patterns import builtin_patterns
from keepstep.diagnosis.rules import RULES, RULES_BY_NAME
from keepstep.diagnosis.verdict import weigh
from tests.diagnosis.facts import SCRATCH, fault, node_of, task_of, who


@pytest.mark.parametrize(
    ("by", "category", "isolate"),
    [
        (LossCause.DELETED, Category.DELETED, False),
        (LossCause.EVICTED, Category.PREEMPTED, False),
        (LossCause.PREEMPTED, Category.PREEMPTED, False),
        (LossCause.NODE_LOST, Category.NODE_HARDWARE, True),
        (LossCause.LAUNCHER_EXITED, Category.UNKNOWN, False),
        (LossCause.OOM_KILLED, Category.OOM_HOST, False),
        (LossCause.UNKNOWN, Category.UNKNOWN, False),
    ],
)
def test_a_lost_task_is_blamed_by_who_took_it(by: LossCause, category: Category, isolate: bool) -> None:
    found = weigh(fault(LossEvidence(by=by, proven=True), rank=2, name="task worker-1"), SCRATCH)
    assert (found.category, found.isolate) == (category, isolate)
    assert found.culprit == Culprit(node=node_of(2), task=task_of(2))


@pytest.mark.parametrize(
    ("sign", "waiting", "named"),
    [
        (StallSign.STOPPED, None, True),
        (StallSign.OUTLIER, False, True),
        (StallSign.NO_PROGRESS, False, True),
        (StallSign.NO_PROGRESS, None, False),
        (StallSign.NO_PROGRESS, True, False),
    ],
)
def test_a_stall_names_its_rank_only_on_positive_evidence(sign: StallSign, waiting: bool | None, named: bool) -> None:
    found = weigh(fault(StallEvidence(rank=2, sign=sign, waiting=waiting), rank=2), SCRATCH)
    assert found.category is Category.HANG
    assert (found.culprit == who(2)) is named


@pytest.mark.parametrize(
    ("stack", "where"),
    [
        (
            ("/usr/lib/python3.11/threading.py:wait", "/w/loader.py:fetch", "/w/train.py:main"),
            "wait, called from /w/loader.py:fetch)",
        ),
        (("/w/train.py:main",), "/w/train.py:main)"),
        (("/usr/lib/python3.11/threading.py:wait",), "threading.py:wait)"),
    ],
)
def test_a_stall_names_the_line_of_the_job_behind_a_library_s(stack: tuple[str, ...], where: str) -> None:
    """A hang was told to be in ``threading.py:wait``, which is where all of them are."""
    seen = StallEvidence(rank=2, sign=StallSign.NO_PROGRESS, waiting=False, stack=stack)
    assert weigh(fault(seen, rank=2), SCRATCH).because.endswith(where)


def test_silence_and_unkillable_ranks_never_isolate() -> None:
    silent = weigh(fault(SilenceEvidence(silent_s=11)), SCRATCH)
    held = weigh(fault(UnkillableEvidence(ranks=(1,))), SCRATCH)
    assert (silent.category, silent.isolate) == (Category.UNKNOWN, False)
    assert (held.category, held.isolate) == (Category.NODE_HARDWARE, False)


@pytest.mark.parametrize(
    ("code", "text", "isolate"),
    [
        ("79", "NVRM: Xid (PCI:7468:d8:00): 79, pid='<unknown>', GPU has fallen off the bus.", True),
        ("13", "NVRM: Xid (PCI:9779:1a:00): 13, Graphics SM Warp Exception", False),
        ("80E01801", "MindCluster level SeparateNPU, CardUnhealthy", True),
        ("80E01801", "MindCluster level RestartBusiness, CardUnhealthy", False),
        ("temperature", "", False),
    ],
)
def test_a_device_isolates_only_by_a_code_known_as_fatal(code: str, text: str, isolate: bool) -> None:
    found = weigh(fault(DeviceEvidence(device="gpu-3", code=code, text=text), name="device gpu-3"), SCRATCH)
    assert found.isolate is isolate
    assert found.culprit is not None
    assert found.culprit.device == "gpu-3"


def test_a_node_condition_alone_does_not_isolate() -> None:
    found = weigh(fault(NodeEvidence(condition="DiskPressure"), name="node node-0"), SCRATCH)
    assert (found.category, found.isolate) == (Category.NODE_HARDWARE, False)


def test_a_pattern_of_the_job_never_isolates_whatever_category_it_claims() -> None:
    evidence = LogEvidence(rank=1, rule="my gpu", category=Category.DEVICE_HARDWARE, line="gpu sad")
    found = weigh(fault(evidence, rank=1), SCRATCH)
    assert (found.category, found.isolate, found.rule) == (Category.DEVICE_HARDWARE, False, "my gpu")


def test_a_built_in_line_is_judged_by_its_rule() -> None:
    line = "NVRM: Xid (PCI:1): 79, GPU has fallen off the bus."
    evidence = LogEvidence(rank=1, rule="gpu-off-bus", category=Category.DEVICE_HARDWARE, line=line)
    assert weigh(fault(evidence, rank=1), SCRATCH).isolate


def test_rules_have_unique_names_and_victims_never_isolate() -> None:
    assert len(RULES_BY_NAME) == len(RULES)
    assert not [rule.name for rule in RULES if rule.isolate and (rule.cascade or rule.category is Category.USER_CODE)]
    assert {pattern.name for pattern in builtin_patterns()} == {rule.name for rule in RULES if rule.live}


@pytest.mark.parametrize(
    ("code", "category"),
    [("220001001", Category.NETWORK), ("310001005", Category.STORAGE), ("310019999", Category.STORAGE)],
)
@pytest.mark.parametrize("device", ["3", None])
@pytest.mark.parametrize("told", ["link down", "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus", ""])
def test_a_peer_s_word_of_a_network_or_storage_blames_no_device(
    code: str, category: Category, device: str | None, told: str
) -> None:
    """A link that pingmesh said to be down, with the devices behind it, isolated them as broken for a week."""
    text = f"MindCluster level SeparateNPU, public: {told}"
    seen = DeviceEvidence(device=device, code=code, text=text) if device else NodeEvidence(condition=code, text=text)
    found = weigh(fault(seen), SCRATCH)
    assert (found.category, found.isolate, found.weight) == (category, False, Weight.DOUBTFUL)
    assert found.confidence <= 0.6


@pytest.mark.parametrize("code", ["020001001", "120001001"])
def test_a_public_fault_of_a_device_itself_still_isolates_it(code: str) -> None:
    seen = DeviceEvidence(device="3", code=code, text="MindCluster level SeparateNPU, public: link down")
    assert weigh(fault(seen), SCRATCH).isolate
