"""Who is let in, as the gate decides it and an API server's review tells it: pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepstep.adapters.kube_tokens import Bearer, NoBearer, bearer_of
from keepstep.gate.core import Claim, Shown, last_moment, objection

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SHOWN = Shown("pod-1", "team-a", "n1", NOW + timedelta(hours=1))


@pytest.mark.parametrize(
    ("claim", "granted", "now", "why"),
    [
        (Claim("default", "pod-1"), True, NOW, ""),
        (Claim("default", "pod-2"), True, NOW, "the token is pod pod-1's, not pod pod-2's"),
        (Claim("default", "pod-1"), False, NOW, "kubectl apply -n team-a -k k8s/jobs"),
        (Claim("default", "pod-1"), True, SHOWN.until, "the token counted until"),
        (Claim("default", "pod-1", "n1"), True, NOW, ""),
        (Claim("default", "pod-1", "n2"), True, NOW, "the token says node n1, not n2"),
        (Claim("default", "pod-1", ""), True, NOW, "the token says node n1, not "),
        (Claim("default", "pod-1", "n1"), False, NOW, "does not let its pods report of nodes"),
    ],
)
def test_an_agent_is_let_in_by_its_own_token_in_time_where_its_namespace_may(
    claim: Claim, granted: bool, now: datetime, why: str
) -> None:
    said = objection(claim, SHOWN, granted=granted, now=now)
    assert why in said
    assert bool(said) == bool(why)


def test_rights_end_with_the_token_or_earlier() -> None:
    lasts = timedelta(minutes=10)
    assert last_moment(SHOWN, now=NOW, lasts=lasts) == NOW + lasts
    assert last_moment(SHOWN, now=SHOWN.until - timedelta(minutes=1), lasts=lasts) == SHOWN.until


def test_a_token_that_names_no_node_is_no_node_s() -> None:
    said = objection(Claim("default", "pod-1", "n1"), replace(SHOWN, node=""), granted=True, now=NOW)
    assert "1.30 or newer" in said


GOOD: dict[str, Any] = {
    "authenticated": True,
    "audiences": ["keepstep-bus"],
    "user": {
        "username": "system:serviceaccount:team-a:trainer",
        "extra": {"authentication.kubernetes.io/pod-uid": ["pod-1"]},
    },
}
TOKEN = "e30.eyJleHAiOiAxNzk2MDAwMDAwfQ.x"  # noqa: S105 - it claims {"exp": 1796000000} and nobody signed it


def test_a_review_names_the_pod_the_account_and_the_time() -> None:
    found = bearer_of(GOOD, TOKEN)
    assert isinstance(found, Bearer)
    assert (found.account, found.pod, found.namespace) == ("team-a:trainer", "pod-1", "team-a")
    assert found.until == datetime.fromtimestamp(1796000000, UTC)


@pytest.mark.parametrize(
    ("change", "token", "why"),
    [
        ({"authenticated": False, "error": "expired"}, TOKEN, "expired"),
        ({"authenticated": "true"}, TOKEN, "no reason given"),
        ({"audiences": []}, TOKEN, "not made for keepstep-bus"),
        ({"user": {**GOOD["user"], "username": "kubernetes-admin"}}, TOKEN, "no ServiceAccount in a pod"),
        ({"user": {**GOOD["user"], "extra": {}}}, TOKEN, "no ServiceAccount in a pod"),
        ({"user": {}}, TOKEN, "nobody is no ServiceAccount"),
        ({}, "opaque", "how long it counts"),
        ({}, "e30.e30.x", "how long it counts"),
        ({}, "e30.eyJleHAiOiAiYSJ9.x", "how long it counts"),
    ],
)
def test_what_proves_no_pod_is_told(change: dict[str, Any], token: str, why: str) -> None:
    found = bearer_of({**GOOD, **change}, token)
    assert isinstance(found, NoBearer)
    assert why in found.because
