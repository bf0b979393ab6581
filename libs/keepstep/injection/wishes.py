"""What people want of keepstep for a job: on the command line, or as annotations that the webhook reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import ValidationError

from keepstep.adapters.kube_json import JsonObject, table
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework
from keepstep.injection import marks
from keepstep.injection.objection import Objection
from keepstep.injection.products import ChipMode, Product

RankTable = Literal["1.0", "1.2", "2.0"]
RANK_TABLES: Mapping[str, RankTable] = {"1.0": "1.0", "1.2": "1.2", "2.0": "2.0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the manifest itself does not say; None leaves it to the manifest or the default."""

    policy: Policy | None = None
    checkpoint_dir: str | None = None
    resume_arg: str | None = None
    nproc: int | None = None
    container: str | None = None
    roles: frozenset[str] = frozenset()
    framework: Framework = Framework.PYTORCH
    product: Product | None = None
    """None: whatever it is, nothing is known that it could not do."""
    chip_mode: ChipMode = ChipMode.AMP
    rank_table: RankTable = "1.0"


def written_on(job: JsonObject, beside: Wishes) -> Wishes | Objection:
    """Return the wishes of a job's annotations; what is wished for beside them goes first."""
    notes = {name: str(said) for name, said in table(job, "metadata", "annotations").items()}
    policy, nproc = beside.policy, notes.get(marks.NPROC)
    if policy is None and marks.POLICY in notes:
        try:
            policy = Policy.model_validate_json(notes[marks.POLICY])
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the JSON"
            return Objection(_field(marks.POLICY), f"{where}: {first['msg']}", "see keepstep schema json Policy")
    if nproc is not None and not (nproc.isdecimal() and int(nproc) > 0):
        return Objection(_field(marks.NPROC), f"{nproc!r} is no number of ranks", "write how many ranks a pod has")
    kinds: dict[str, type[StrEnum]] = {
        marks.FRAMEWORK: Framework,
        marks.PRODUCT: Product,
        marks.CHIP_MODE: ChipMode,
    }
    for mark, known in kinds.items():
        names = [str(one) for one in known]
        if mark in notes and notes[mark] not in names:
            return Objection(_field(mark), f"{notes[mark]!r} is not supported", f"it is one of {', '.join(names)}")
    version = notes.get(marks.RANK_TABLE, beside.rank_table)
    if version not in RANK_TABLES:
        because = f"{version!r} is no version of a rank table"
        return Objection(_field(marks.RANK_TABLE), because, f"it is one of {', '.join(RANK_TABLES)}")
    roles = frozenset(filter(None, (name.strip() for name in notes.get(marks.ROLES, "").split(","))))
    return Wishes(
        policy=policy,
        checkpoint_dir=beside.checkpoint_dir or notes.get(marks.CHECKPOINT_DIR),
        resume_arg=beside.resume_arg or notes.get(marks.RESUME_ARG),
        nproc=beside.nproc or (None if nproc is None else int(nproc)),
        container=beside.container or notes.get(marks.CONTAINER),
        roles=beside.roles or roles,
        framework=Framework(notes.get(marks.FRAMEWORK, beside.framework)),
        product=Product(notes[marks.PRODUCT]) if marks.PRODUCT in notes else beside.product,
        rank_table=RANK_TABLES[version],
        chip_mode=ChipMode(notes.get(marks.CHIP_MODE, beside.chip_mode)),
    )


def _field(mark: str) -> str:
    return f"metadata.annotations[{mark}]"
