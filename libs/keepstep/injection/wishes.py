"""What people want of keepstep for a job: on the command line, or as annotations that the webhook reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from keepstep.adapters.kube_json import JsonObject, table
from keepstep.asking.mistakes import explained
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework
from keepstep.injection import marks
from keepstep.injection.objection import Objection
from keepstep.injection.products import ChipMode, Product

RankTable = Literal["1.0", "1.2", "2.0"]
RANK_TABLES: Mapping[str, RankTable] = {"1.0": "1.0", "1.2": "1.2", "2.0": "2.0"}
DIGITS = 9
"""Of a number of ranks: so long a text is a number that Python reads, whether there can be so many or not."""
MOST_MISTAKES = 20
"""Mistakes of one policy: an annotation of 256 KiB can hold a hundred thousand, and nobody reads past a screen."""


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


def written_on(job: JsonObject, beside: Wishes) -> tuple[Wishes, tuple[Objection, ...]]:
    """Return the wishes of a job's annotations, and every one that cannot be read; what is wished beside goes first.

    In place of what cannot be read stands something that can be had, so that all else is checked too.
    """
    notes = {name: str(said) for name, said in table(job, "metadata", "annotations").items()}
    wrong: list[Objection] = []
    roles = frozenset(filter(None, (name.strip() for name in notes.get(marks.ROLES, "").split(","))))
    version = _one_of(marks.RANK_TABLE, notes, RANK_TABLES, wrong) or beside.rank_table
    wishes = Wishes(
        policy=beside.policy or _policy(notes, wrong),
        checkpoint_dir=beside.checkpoint_dir or notes.get(marks.CHECKPOINT_DIR),
        resume_arg=beside.resume_arg or notes.get(marks.RESUME_ARG),
        nproc=beside.nproc or _nproc(notes, wrong),
        container=beside.container or notes.get(marks.CONTAINER),
        roles=beside.roles or roles,
        framework=Framework(_one_of(marks.FRAMEWORK, notes, Framework, wrong) or beside.framework),
        product=Product(one) if (one := _one_of(marks.PRODUCT, notes, Product, wrong)) else beside.product,
        rank_table=RANK_TABLES[version],
        chip_mode=ChipMode(_one_of(marks.CHIP_MODE, notes, ChipMode, wrong) or beside.chip_mode),
    )
    return wishes, tuple(wrong)


def _policy(notes: Mapping[str, str], wrong: list[Objection]) -> Policy | None:
    if marks.POLICY not in notes:
        return None
    try:
        return Policy.model_validate_json(notes[marks.POLICY])
    except ValidationError as error:
        told = explained(error, Policy)
        wrong += [_mistake(one) for one in told[:MOST_MISTAKES]]
        if len(told) > MOST_MISTAKES:
            because = f"{len(told) - MOST_MISTAKES} mistakes more"
            wrong.append(Objection(_field(marks.POLICY), because, "put these right first"))
        return None


def _mistake(told: str) -> Objection:
    """Return a mistake of the policy as an objection; where it says no remedy, the schema does."""
    because, _, remedy = told.partition("; ")
    return Objection(_field(marks.POLICY), because, remedy or "see keepstep schema json Policy")


def _nproc(notes: Mapping[str, str], wrong: list[Objection]) -> int | None:
    said = notes.get(marks.NPROC)
    if said is None:
        return None
    if said.isdecimal() and len(said) <= DIGITS and int(said) > 0:
        return int(said)
    wrong.append(Objection(_field(marks.NPROC), f"{said!r} is no number of ranks", "write how many ranks a pod has"))
    return 1


def _one_of(mark: str, notes: Mapping[str, str], known: Iterable[str], wrong: list[Objection]) -> str:
    """Return what is written there, "" where nothing is or it is not known."""
    said, names = notes.get(mark), [str(one) for one in known]
    if said is None or said in names:
        return said or ""
    because = "is no version of a rank table" if mark == marks.RANK_TABLE else "is not supported"
    wrong.append(Objection(_field(mark), f"{said!r} {because}", f"it is one of {', '.join(names)}"))
    return ""


def _field(mark: str) -> str:
    return f"metadata.annotations[{mark}]"
