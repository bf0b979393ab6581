"""Which frameworks, devices per pod and job sizes each product can be recovered with: data, a row for each rule.

Tables 1 and 2 of Ascend's resumable training and their notes, and Baige's first prerequisite for GPUs. The tables name
no framework for Atlas A3; the two that the other Ascend products share for graceful tolerance are taken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from keepstep.adapters.kube_view import Refusal
from keepstep.contracts.taxonomy import Framework, Level


class Product(StrEnum):
    """Where it trains."""

    GPU = "gpu"
    ATLAS_800 = "atlas-800"
    """Models 9000 and 9010, all of the NPUs or half of them."""
    ATLAS_800T_A2 = "atlas-800t-a2"
    ATLAS_200T_A2_BOX16 = "atlas-200t-a2-box16"
    ATLAS_900_A2_POD = "atlas-900-a2-pod"
    ATLAS_900_A3_SUPERPOD = "atlas-900-a3-superpod"


class ChipMode(StrEnum):
    """``npuworkmode`` of an Atlas 800."""

    AMP = "amp"
    SMP = "smp"


@dataclass(frozen=True, slots=True)
class Size:
    """What a job is made of: its pods, and the devices of each."""

    pods: int
    devices: int


@dataclass(frozen=True, slots=True)
class Row:
    """One product: frameworks by kind of recovery, and devices per pod that a restart in the pod can take."""

    rescheduling: frozenset[Framework]
    graceful: frozenset[Framework]
    one_pod: frozenset[int] | None = None
    """Devices of a job of one pod; None takes any."""
    many_pods: frozenset[int] | None = None
    """Devices per pod of a job of several."""
    smp_refuses: frozenset[int] = frozenset()
    """Devices per pod that chips in mode SMP do not let be given anew."""


_PT, _MS, _TF = Framework.PYTORCH, Framework.MINDSPORE, Framework.TENSORFLOW
_ALL, _TWO, _NONE = frozenset({_PT, _MS, _TF}), frozenset({_PT, _MS}), frozenset[Framework]()
_FOUR_OR_EIGHT, _EIGHT = frozenset({4, 8}), frozenset({8})

ROWS: Mapping[Product, Row] = {
    Product.GPU: Row(frozenset({_PT}), frozenset({_PT})),
    Product.ATLAS_800: Row(_ALL, _TWO, _FOUR_OR_EIGHT, _FOUR_OR_EIGHT, smp_refuses=frozenset({1, 2})),
    Product.ATLAS_800T_A2: Row(_ALL, _TWO, _EIGHT, _EIGHT),
    Product.ATLAS_200T_A2_BOX16: Row(_ALL, _NONE),
    Product.ATLAS_900_A2_POD: Row(_ALL, _TWO, _EIGHT, _EIGHT),
    Product.ATLAS_900_A3_SUPERPOD: Row(_TWO, _TWO, frozenset(range(2, 17, 2)), frozenset({16})),
}


def refusals(product: Product, framework: Framework, size: Size, mode: ChipMode = ChipMode.AMP) -> tuple[Refusal, ...]:
    """Return which levels the product cannot do for this job, with reason and remedy."""
    row = ROWS[product]
    found = list[Refusal]()
    if framework not in row.rescheduling:
        names = _names(row.rescheduling)
        found += _of((Level.POD, Level.JOB), f"{framework} is not restarted on {product}", f"train with {names}")
    elif mode is ChipMode.SMP and size.devices in row.smp_refuses:
        because = f"chips of {product} in mode SMP do not let {size.devices} devices per pod be given anew"
        found += _of((Level.POD, Level.JOB), because, "ask for 4 or 8 devices per pod, or set mode AMP")
    if framework not in row.graceful:
        names = _names(row.graceful)
        remedy = f"train with {names}" if names else "take level pod or job"
        found += _of((Level.IN_PLACE,), f"{framework} is not restarted in its pods on {product}", remedy)
    else:
        found += _size(product, row, size)
    return tuple(found)


def product_of(resources: Iterable[str]) -> Product | None:
    """Return the product that devices of these names tell of; an Ascend's name does not tell which Atlas it is in."""
    return Product.GPU if any(name.endswith("/gpu") for name in resources) else None


def _size(product: Product, row: Row, size: Size) -> tuple[Refusal, ...]:
    allowed = row.one_pod if size.pods == 1 else row.many_pods
    if allowed is None or size.devices in allowed:
        return ()
    counts = ", ".join(map(str, sorted(allowed)))
    of = "one pod" if size.pods == 1 else "several pods"
    because = f"a job of {of} is restarted in its pods on {product} with {counts} devices each, not {size.devices}"
    return _of((Level.IN_PLACE,), because, "change the devices per pod, or take level pod or job")


def _of(levels: tuple[Level, ...], because: str, remedy: str) -> tuple[Refusal, ...]:
    return tuple(Refusal(level, because, remedy) for level in levels)


def _names(frameworks: frozenset[Framework]) -> str:
    return ", ".join(sorted(frameworks))
