"""A running stack is found by others, a dead one is not, and its token stays with its owner."""

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from keepstep.asking.paths import resolved
from keepstep.cli import places
from keepstep.cli.errors import Failed
from keepstep.cli.folders import make, make_folder
from keepstep.contracts.ids import JobUid, Pool
from keepstep.contracts.topology import JobRef

JOB = JobRef(name="train", uid=JobUid("0123456789"))


def address(folder: Path, job: JobRef | None = None) -> places.StackAddress:
    return places.StackAddress(
        pid=os.getpid(), url=SecretStr("nats://tok@127.0.0.1:4222"), pool=Pool("p"), folder=folder, job=job
    )


def test_a_running_up_is_found_with_its_token(tmp_path: Path) -> None:
    with places.hold(tmp_path):
        places.announce(address(tmp_path))
        found = places.find_up(tmp_path)
    assert found is not None
    assert found.url.get_secret_value() == "nats://tok@127.0.0.1:4222"
    assert "tok" not in repr(found)


def test_a_stack_that_died_is_not_found(tmp_path: Path) -> None:
    with places.hold(tmp_path):
        places.announce(address(tmp_path))
    assert places.find_up(tmp_path) is None
    with pytest.raises(Failed, match="no keepstep runs"):
        places.find(tmp_path)


def test_two_stacks_do_not_share_a_folder(tmp_path: Path) -> None:
    with places.hold(tmp_path), pytest.raises(Failed, match="another keepstep"), places.hold(tmp_path):
        pass


def test_a_command_that_only_looks_keeps_no_stack_from_starting(tmp_path: Path) -> None:
    """``watch keepstep job list`` beside it, ``keepstep up`` now and then said that another one runs."""
    with places.hold(tmp_path):
        pass
    with (tmp_path / "stack.lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.2, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        with places.hold(tmp_path):
            pass


def test_a_stack_that_comes_up_is_not_taken_for_its_predecessor(tmp_path: Path) -> None:
    """A run that began just then waited for a bus that was gone."""
    places.announce(address(tmp_path).model_copy(update={"pid": 1}))
    with places.hold(tmp_path):
        assert places.find_up(tmp_path) is None
        places.announce(address(tmp_path))
        assert places.find_up(tmp_path) == address(tmp_path)


def test_a_job_finds_its_private_stack_before_the_shared_one(tmp_path: Path) -> None:
    private = places.run_folder(tmp_path, JOB)
    with places.hold(tmp_path), places.hold(private):
        places.announce(address(tmp_path))
        places.announce(address(private, JOB))
        assert places.find(tmp_path, "train").folder == private
        assert places.find(tmp_path, JOB.uid).folder == private
        assert places.find(tmp_path).folder == tmp_path
        assert places.find(tmp_path, "another").folder == tmp_path


def test_a_garbled_address_is_none(tmp_path: Path) -> None:
    """Bytes that were no text ended every command in that folder with a traceback."""
    for garbage in (b"\xff\xfe\0", b"{", b""):
        (tmp_path / "stack.json").write_bytes(garbage)
        with places.hold(tmp_path):
            assert places.find_up(tmp_path) is None
        with pytest.raises(Failed, match=r"^no stack has left anything in "):
            places.address_of(tmp_path)


def test_only_the_owner_reads_the_token(tmp_path: Path) -> None:
    places.announce(address(tmp_path))
    assert stat.S_IMODE((tmp_path / "stack.json").stat().st_mode) == 0o600


def test_a_finished_run_is_found_by_its_name(tmp_path: Path) -> None:
    folder = places.run_folder(tmp_path, JOB)
    folder.mkdir(parents=True)
    assert places.finished_run(tmp_path) is None
    (folder / "events.jsonl").touch()
    assert places.finished_run(tmp_path, "train") == folder
    assert places.finished_run(tmp_path, "other") is None


def test_a_job_that_is_not_there_is_told_apart_from_one_that_has_ended(tmp_path: Path) -> None:
    """Both were told to start keepstep up, beside four runs that could be looked at."""
    folder = places.run_folder(tmp_path, JOB)
    folder.mkdir(parents=True)
    (folder / "events.jsonl").touch()
    with pytest.raises(Failed, match=r"^job train has ended; keepstep job list shows how$"):
        places.find(tmp_path, "train")
    with pytest.raises(Failed, match=r"^there is no job other in .*; keepstep job list shows which there are$"):
        places.find(tmp_path, "other")


def test_a_folder_that_cannot_be_made_is_named_with_its_option(tmp_path: Path) -> None:
    (tmp_path / "model.pt").touch()
    with pytest.raises(Failed, match=r"^--checkpoint-dir .*/model.pt: is a file; name a folder$"):
        make_folder(tmp_path / "model.pt", "--checkpoint-dir")
    with pytest.raises(Failed, match=r"^--data .*/model.pt/below: cannot be made: Not a directory; name another"):
        make(tmp_path / "model.pt" / "below")


def test_a_folder_that_cannot_be_written_is_refused_before_the_job_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job made all its steps up to its first save, was restarted, and failed there again."""
    make_folder(tmp_path, "--checkpoint-dir")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path or not mode & os.W_OK)  # root may write all
    with pytest.raises(Failed, match=r"^--checkpoint-dir .*: cannot be written; name another folder$"):
        make_folder(tmp_path, "--checkpoint-dir")


def test_a_data_folder_that_is_made_is_kept_out_of_version_control(tmp_path: Path) -> None:
    make(tmp_path)
    assert not list(tmp_path.iterdir())
    make(tmp_path / "data")
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_links_in_a_ring_are_refused_by_the_option_that_named_them(tmp_path: Path) -> None:
    """``keepstep run --checkpoint-dir`` ended in a traceback."""
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    assert places.data_folder(ring) == ring
    with pytest.raises(Failed, match=r"--checkpoint-dir .*ring: is a link that leads nowhere; name a folder"):
        make_folder(resolved(ring), "--checkpoint-dir")
