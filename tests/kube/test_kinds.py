"""That every job kind is described, once on each side, and found by what an object or a view of it says."""

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import NOTHING_BELOW
from keepstep.adapters.kube_kinds import KINDS, kind_at, kind_of
from keepstep.injection.shapes import SHAPES
from tests.kube.jobs import view
from tests.kube.objects import sample


def test_every_kind_that_people_may_choose_is_described_on_both_sides() -> None:
    assert set(KINDS) == set(SHAPES) == set(JobKind)


@pytest.mark.parametrize("kind", JobKind)
def test_a_kind_is_found_by_its_objects_its_views_and_its_manifests(kind: JobKind) -> None:
    found = KINDS[kind]
    assert found.name is kind
    assert kind_at(found.resource.api, found.resource.kind) is found
    assert kind_of(view(kind)) is found
    assert SHAPES[kind].kind is found


def test_the_version_of_an_api_does_not_change_whose_it_is() -> None:
    assert kind_at("jobset.x-k8s.io/v1", "JobSet") is KINDS[JobKind.JOBSET]
    assert kind_at("jobset.x-k8s.io/v1", "Job") is None


def test_rules_refuse_a_view_that_another_kind_made() -> None:
    job = KINDS[JobKind.JOB].rules.read(sample("job-running"), NOTHING_BELOW)
    with pytest.raises(TypeError, match="was not read as VolcanoView"):
        KINDS[JobKind.VOLCANO].rules.supports(job)
