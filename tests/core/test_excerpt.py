"""A dead letter's body is shown as far as it is nobody's secret."""

import json

import pytest

from keepstep.core.excerpt import LENGTH, excerpt

URL = "https://hook.example/robot/send?access_token=s3cret"
BODIES = [
    json.dumps({"spec": {"policy": {"notification": {"routes": [{"sink": URL}]}}}}),
    json.dumps({"spec": {"env": {"WANDB": "s3cret"}, "name": "train"}}),
    json.dumps({"argv": ["train.py", "--hub-token", "s3cret"]}),
    json.dumps({"argv": ["train.py", "--password=s3cret"]}),
    json.dumps({"api_key": ["s3cret"]}),
    json.dumps({"line": "Authorization: Bearer s3cret"}),
    f"not JSON: {URL}",
    '{"broken": "yes", "token": "s3cret"',
    "password=s3cret",
]


@pytest.mark.parametrize("body", BODIES)
def test_no_secret_of_a_body_is_shown(body: str) -> None:
    assert "s3cret" in body
    assert "s3cret" not in excerpt(body.encode())


def test_what_is_no_secret_is_shown_and_long_bodies_are_cut() -> None:
    shown = json.loads(excerpt(json.dumps({"spec": {"name": "train", "nodes": 2}, "sink": URL}).encode()))
    assert shown == {"spec": {"name": "train", "nodes": 2}, "sink": "https://hook.example"}
    long = excerpt(b"x" * 100_000)
    assert long.startswith("x" * LENGTH)
    assert long.endswith("(100000 characters)")
    assert excerpt(b"\xff\xfe") == "\ufffd\ufffd"
