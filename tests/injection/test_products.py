"""Products, frameworks and sizes: every row of the tables, and what lies beside it."""

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts.taxonomy import Framework, Level
from keepstep.injection.products import ROWS, ChipMode, Product, Size, refusals
from keepstep.injection.requirements import Component, Pool, unmet, version
from tests.injection.manifests import injected, manifest, noted, objections

PT, MS, TF = Framework.PYTORCH, Framework.MINDSPORE, Framework.TENSORFLOW
ASCEND = [product for product in Product if product is not Product.GPU]


def refused(product: Product, framework: Framework, *, pods: int = 2, devices: int, smp: bool = False) -> set[Level]:
    found = refusals(product, framework, Size(pods, devices), ChipMode.SMP if smp else ChipMode.AMP)
    assert all(one.because and one.remedy for one in found)
    return {one.level for one in found}


FITTING = {Product.ATLAS_900_A3_SUPERPOD: 16}
A3 = Product.ATLAS_900_A3_SUPERPOD


@pytest.mark.parametrize(
    ("product", "framework", "levels"),
    [
        (Product.GPU, PT, set()),
        (Product.GPU, MS, {Level.IN_PLACE, Level.POD, Level.JOB}),
        (Product.GPU, TF, {Level.IN_PLACE, Level.POD, Level.JOB}),
        (Product.ATLAS_800, PT, set()),
        (Product.ATLAS_800, MS, set()),
        (Product.ATLAS_800, TF, {Level.IN_PLACE}),
        (Product.ATLAS_800T_A2, PT, set()),
        (Product.ATLAS_800T_A2, MS, set()),
        (Product.ATLAS_800T_A2, TF, {Level.IN_PLACE}),
        (Product.ATLAS_200T_A2_BOX16, PT, {Level.IN_PLACE}),
        (Product.ATLAS_200T_A2_BOX16, MS, {Level.IN_PLACE}),
        (Product.ATLAS_200T_A2_BOX16, TF, {Level.IN_PLACE}),
        (Product.ATLAS_900_A2_POD, PT, set()),
        (Product.ATLAS_900_A2_POD, MS, set()),
        (Product.ATLAS_900_A2_POD, TF, {Level.IN_PLACE}),
        (A3, PT, set()),
        (A3, MS, set()),
        (A3, TF, {Level.IN_PLACE, Level.POD, Level.JOB}),
    ],
)
def test_what_a_product_does_for_a_framework(product: Product, framework: Framework, levels: set[Level]) -> None:
    assert refused(product, framework, devices=FITTING.get(product, 8)) == levels


def test_every_product_has_a_row() -> None:
    assert set(ROWS) == set(Product)


@pytest.mark.parametrize(("devices", "levels"), [(1, True), (2, True), (4, False), (8, False)])
def test_chips_in_mode_smp_refuse_one_and_two_per_pod(devices: int, levels: bool) -> None:
    found = refused(Product.ATLAS_800, TF, devices=devices, smp=True)
    assert ({Level.POD, Level.JOB} <= found) is levels


@pytest.mark.parametrize("devices", [1, 2])
def test_chips_in_another_mode_do_not(devices: int) -> None:
    assert refused(Product.ATLAS_800, TF, devices=devices) == {Level.IN_PLACE}


@pytest.mark.parametrize(
    ("product", "pods", "fits"),
    [
        (Product.ATLAS_800, 1, {4, 8}),
        (Product.ATLAS_800, 3, {4, 8}),
        (Product.ATLAS_800T_A2, 1, {8}),
        (Product.ATLAS_800T_A2, 2, {8}),
        (Product.ATLAS_900_A2_POD, 2, {8}),
        (A3, 1, {2, 4, 6, 8, 10, 12, 14, 16}),
        (A3, 2, {16}),
        (Product.GPU, 2, set(range(1, 18))),
    ],
)
def test_the_sizes_that_are_restarted_in_their_pods(product: Product, pods: int, fits: set[int]) -> None:
    found = {count for count in range(1, 18) if not refused(product, PT, pods=pods, devices=count)}
    assert found == fits


def test_a_product_closes_levels_of_the_job_and_says_why() -> None:
    job = manifest(JobKind.JOB, resources={"limits": {"huawei.com/Ascend910": 4}})
    found = injected(noted(job, product="atlas-800t-a2"))
    assert Level.IN_PLACE not in found.spec.policy.recovery.levels
    told = found.support.refusal(Level.IN_PLACE)
    assert told is not None
    assert "8 devices each, not 4" in told.because


@pytest.mark.parametrize(("mark", "said"), [("framework", "paddle"), ("product", "abacus"), ("chip_mode", "fast")])
def test_what_is_no_framework_or_product_is_refused_by_the_annotation(mark: str, said: str) -> None:
    (field,) = objections(noted(manifest(JobKind.JOB), **{mark: said}))
    assert field == f"metadata.annotations[keepstep.io/{mark.replace('_', '-')}]"


@pytest.mark.parametrize(
    ("found", "passes"),
    [
        *((found, True) for found in ("1.6.10", "v1.6.10", "1.6.11-rc1", "1.10.0", "2")),
        *((found, False) for found in ("1.6.9", "1.6", "0.9.99", "latest", None)),
    ],
)
def test_an_older_component_is_refused_and_an_equal_one_passes(found: str | None, passes: bool) -> None:
    wrong = list(unmet(Pool(components=(Component("the operator", "1.6.10", found),))))
    assert (not wrong) is passes
    assert all("1.6.10 or newer is needed" in one.because for one in wrong)


def test_a_pool_without_isolation_is_refused() -> None:
    (wrong,) = unmet(Pool(isolation=False))
    assert "switch automatic isolation on" in wrong.remedy


def test_versions_are_compared_as_numbers() -> None:
    assert version("v1.10.2+build5") == (1, 10, 2)
