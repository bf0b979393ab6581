"""Only whole, stable, loadable checkpoints are told, each once."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import pytest

from keepstep.agent import headers, scan
from keepstep.agent.checkpoints import Candidate, File, Ripening, candidates
from keepstep.agent.headers import loads
from keepstep.agent.scan import listing, whole
from keepstep.contracts.policy import CheckpointPolicy

POLICY = CheckpointPolicy()
NESTED = CheckpointPolicy(pattern=r"step-(?P<step>\d+)/rank-(?P<rank>\d+)\.pt$")


def named(*names: str, policy: CheckpointPolicy = POLICY, ranks: int = 2) -> list[tuple[int, str, tuple[int, ...]]]:
    files = {name: File(size=1, mtime_ns=index) for index, name in enumerate(names)}
    return [(found.step, found.path, found.ranks) for found in candidates(files, policy, range(ranks))]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["step-10.pt"], [(10, "step-10.pt", (0, 1))]),
        (["step-10.pt", "step-20.pt"], [(20, "step-20.pt", (0, 1)), (10, "step-10.pt", (0, 1))]),
        (["ckpt_7.safetensors"], [(7, "ckpt_7.safetensors", (0, 1))]),
        (["step-10.pt.tmp", ".step-10.pt", "step-10.pt~", "latest.pt", "notes.txt"], []),
        (["step-10-rank-0.pt"], []),
        (["step-10-rank-0.pt", "step-10-rank-1.pt"], [(10, "", (0, 1))]),
        (["run/step-10.rank0.pt", "run/step-10.rank1.pt"], [(10, "run", (0, 1))]),
        (["step-10-rank-0.pt", "step-20-rank-1.pt"], []),
        (["checkpoint-5/model.safetensors", "checkpoint-5/state.json"], [(5, "checkpoint-5", (0, 1))]),
        (["checkpoint-5/model.safetensors.tmp", "checkpoint-5/state.json"], []),
        (["step-5/__0_0.distcp", "step-5/__1_0.distcp"], []),
        (["step-5/__0_0.distcp", "step-5/.metadata"], [(5, "step-5", (0, 1))]),
        (["step-5/rank-0.pt"], []),
        (["step-5/rank-0.pt", "step-5/rank-1.pt"], [(5, "step-5", (0, 1))]),
        (
            ["ckpt-20261130015258123456.pt", "step-9223372036854775807.pt"],
            [(2**63 - 1, "step-9223372036854775807.pt", (0, 1))],
        ),
    ],
)
def test_which_names_make_a_set(names: list[str], expected: list[tuple[int, str, tuple[int, ...]]]) -> None:
    assert named(*names) == expected


def test_files_per_rank_in_a_folder_per_step() -> None:
    assert named("step-5/rank-0.pt", policy=NESTED) == []
    assert named("step-5/rank-0.pt", "step-5/rank-1.pt", policy=NESTED) == [(5, "step-5", (0, 1))]


def test_what_a_pattern_takes_for_a_step_and_is_none_is_passed_over() -> None:
    """An agent that stumbles over a name stumbles again after every restart."""
    loose = CheckpointPolicy(pattern=r"model(?P<step>.*?)(?P<rank>-.)?\.pt$")
    assert named("model-x.pt", "modelnew.pt", "model.pt", "model²-y.pt", "model7-z.pt", policy=loose) == [
        (7, "model7-z.pt", (0, 1))
    ]


def test_of_more_files_than_are_listed_those_of_the_latest_steps_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "LIMIT", 5)
    for number in range(1, 40):
        (tmp_path / f"step-{number}.pt").touch()
    assert sorted(listing(tmp_path)) == [f"step-{number}.pt" for number in range(35, 40)]


def test_names_and_times_that_nobody_can_be_told_are_passed_over_or_bounded(tmp_path: Path) -> None:
    (tmp_path / "step-1.pt").touch()
    (tmp_path / os.fsdecode(b"mod\xe8le-step-2.pt")).touch()
    (tmp_path / "step-3").symlink_to(tmp_path)
    (tmp_path / "step-4.pt").symlink_to("step-4.pt")
    os.utime(tmp_path / "step-1.pt", (2**36, 2**36))
    found = listing(tmp_path)
    assert set(found) == {"step-1.pt"}
    assert found["step-1.pt"].mtime_ns <= 253_402_300_799 * 10**9


def test_only_the_newest_are_considered() -> None:
    found = named(*(f"step-{step}.pt" for step in range(100)))
    assert [step for step, _, _ in found] == list(range(99, 79, -1))


def one(digest: str = "a", *, quiet: float = 0.2) -> Candidate:
    files = {"step-1.pt": File(size=1, mtime_ns=hash(digest))}
    (found,) = candidates(files, CheckpointPolicy.model_validate({"stable_for": quiet}), (0,))
    return found


def test_a_set_is_told_once_it_stood_still_and_again_when_rewritten() -> None:
    ripening, first, second = Ripening(), one("a"), one("b")
    assert ripening.ripe((first,), 0) == ()
    assert ripening.unripe()
    assert ripening.ripe((second,), 0.3) == ()
    assert ripening.ripe((second,), 0.6) == (second,)
    ripening.told(second)
    assert ripening.ripe((second,), 0.9) == ()
    assert not ripening.unripe()
    assert ripening.ripe((first,), 1.0) == ()
    assert ripening.ripe((first,), 1.3) == (first,)


def test_a_set_that_did_not_load_is_tried_again_later() -> None:
    ripening, broken = Ripening(), one()
    ripening.ripe((broken,), 0)
    assert ripening.ripe((broken,), 1) == (broken,)
    ripening.failed(broken, 1)
    assert ripening.ripe((broken,), 2) == ()
    assert ripening.ripe((broken,), 6.1) == (broken,)


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 1000)
        archive.writestr("archive/version", b"3")
    return buffer.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {}}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * 8


LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + b"raw storage"
WHOLE = {
    "a.pt": zipped(),
    "b.pth": pickle.dumps({"step": 1}),
    "c.pt": LEGACY,
    "d.safetensors": safetensors(),
    "e.json": b'{"step": 1}',
    "f": b"anything",
}
HALF = {
    "empty.pt": b"",
    "cut.pt": zipped()[:-30],
    "half.pt": zipped()[:700],
    "cut.pth": pickle.dumps({"step": 1})[:-3],
    "hole.pt": b"\0" * 4096,
    "cut.safetensors": safetensors()[:-1],
    "header.safetensors": safetensors()[:20],
    "list.safetensors": (2).to_bytes(8, "little") + b"[]",
    "odd.safetensors": (8).to_bytes(8, "little") + b'{"w": 1}',
    "few.safetensors": b"abc",
    "cut.json": b'{"step": ',
}


@pytest.mark.parametrize(("name", "body"), [*WHOLE.items(), *HALF.items()], ids=[*WHOLE, *HALF])
def test_a_header_loads_only_when_the_file_is_whole(tmp_path: Path, name: str, body: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(body)
    assert loads(path) is (name in WHOLE)


def test_every_prefix_of_a_torch_file_is_refused(tmp_path: Path) -> None:
    body, path = zipped(), tmp_path / "step-1.pt"
    for size in range(0, len(body), 37):
        path.write_bytes(body[:size])
        assert not loads(path), size


def test_of_files_per_rank_only_the_steps_that_are_whole_on_all_are_there(tmp_path: Path) -> None:
    """Step 30 is cut on rank 1 and step 40 is on rank 0 alone: step 20 is the newest that can be resumed from."""
    for step, rank in [(10, 0), (10, 1), (20, 0), (20, 1), (30, 0), (30, 1), (40, 0)]:
        body = zipped()[:-30] if (step, rank) == (30, 1) else zipped()
        (tmp_path / f"step-{step}-rank-{rank}.pt").write_bytes(body)
    found = candidates(listing(tmp_path), POLICY, range(2))
    assert [one.step for one in found if whole(tmp_path, one)] == [20, 10]


def test_a_file_that_vanished_does_not_load(tmp_path: Path) -> None:
    assert not loads(tmp_path / "gone.pt")


def test_the_folder_is_listed_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "step-1" / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "step-1" / "model.pt").write_bytes(b"abc")
    (tmp_path / "step-1" / "deep" / "deeper" / "x.pt").write_bytes(b"x")
    (tmp_path / "latest").symlink_to(tmp_path / "step-1")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    assert {name: file.size for name, file in listing(tmp_path).items()} == {"step-1/model.pt": 3}
    assert listing(tmp_path / "missing") == {}


@pytest.mark.parametrize(("shards", "expected"), [(("__0_0", "__1_0"), True), (("__0_0",), False)])
def test_a_distributed_checkpoint_needs_the_shards_its_metadata_names(
    tmp_path: Path, shards: tuple[str, ...], expected: bool
) -> None:
    folder = tmp_path / "step-3"
    folder.mkdir()
    (folder / ".metadata").write_bytes(pickle.dumps(["__0_0.distcp", "__1_0.distcp"]))
    for shard in shards:
        (folder / f"{shard}.distcp").write_bytes(b"raw")
    (found,) = candidates(listing(tmp_path), POLICY, (0, 1))
    assert whole(tmp_path, found) is expected


def test_a_rewrite_of_the_same_size_is_another_set(tmp_path: Path) -> None:
    path = tmp_path / "step-1.pt"
    path.write_bytes(zipped())
    os.utime(path, ns=(1, 1))
    (first,) = candidates(listing(tmp_path), POLICY, (0,))
    os.utime(path, ns=(2, 2))
    (second,) = candidates(listing(tmp_path), POLICY, (0,))
    assert first.digest != second.digest


def test_a_header_that_is_garbage_is_neither_followed_nor_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep, long = tmp_path / "state.json", tmp_path / "model.safetensors"
    deep.write_bytes(b"[" * 200_000)
    assert not loads(deep)
    monkeypatch.setattr(headers, "_HEADER_LIMIT", 10)
    long.write_bytes((11).to_bytes(8, "little") + b"{}         ")
    assert not loads(long)
    monkeypatch.setattr(headers, "_HEADER_LIMIT", 11)
    assert loads(long)
