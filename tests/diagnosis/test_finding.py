"""What one exit of a rank says by itself."""

import pytest

from keepstep.contracts.events import (
    FaultDetected,
)
from keepstep.contracts.taxonomy import Category, Phase
from keepstep.diagnosis.finding import Weight
from keepstep.diagnosis.lines import exception_line, plain
from keepstep.diagnosis.verdict import weigh
from tests.diagnosis.facts import PEER_CLOSED, SCRATCH, TIMED_OUT, exit_of, raised, who


@pytest.mark.parametrize(
    ("lines", "category", "rule", "weight"),
    [
        (raised("KeyError: 'labels'"), Category.USER_CODE, "traceback", Weight.CAUSE),
        (raised("mylib.errors.BadBatch: batch 7 is empty"), Category.USER_CODE, "traceback", Weight.CAUSE),
        (raised("ModuleNotFoundError: No module named 'x'"), Category.USER_CONFIG, "module-missing", Weight.CAUSE),
        (
            ("usage: train.py [-h]", "train.py: error: unrecognized arguments: --lr2"),
            Category.USER_CONFIG,
            "arguments",
            Weight.CAUSE,
        ),
        (raised("FileNotFoundError: [Errno 2] No such file"), Category.USER_CONFIG, "file-missing", Weight.CAUSE),
        (raised("PIL.UnidentifiedImageError: cannot identify"), Category.DATA, "data-decode", Weight.CAUSE),
        (raised("MemoryError: Unable to allocate 512 GiB"), Category.OOM_HOST, "host-out-of-memory", Weight.CAUSE),
        (
            raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
            Category.OOM_DEVICE,
            "device-out-of-memory",
            Weight.CAUSE,
        ),
        (raised("OSError: [Errno 28] No space left on device"), Category.STORAGE, "no-space", Weight.CAUSE),
        (raised("OSError: [Errno 116] Stale file handle"), Category.STORAGE, "input-output", Weight.CAUSE),
        (
            raised("torch.distributed.DistNetworkError: The server socket has failed to bind. EADDRINUSE"),
            Category.NETWORK,
            "port-in-use",
            Weight.CAUSE,
        ),
        (PEER_CLOSED, Category.NETWORK, "peer-lost", Weight.CASCADE),
        (TIMED_OUT, Category.COLLECTIVE_TIMEOUT, "collective-timeout", Weight.CASCADE),
        (
            raised("torch.distributed.DistStoreError: Timed out after 9 seconds waiting for clients."),
            Category.COLLECTIVE_TIMEOUT,
            "store-timeout",
            Weight.CASCADE,
        ),
        (raised("ConnectionResetError: [Errno 104] Connection reset by peer"), Category.NETWORK, "peer-lost", 3),
        (
            raised("RuntimeError: CUDA error: uncorrectable ECC error encountered"),
            Category.DEVICE_HARDWARE,
            "gpu-ecc",
            Weight.DECISIVE,
        ),
    ],
)
def test_the_line_that_ended_a_rank_names_its_cause(
    lines: tuple[str, ...], category: Category, rule: str, weight: Weight
) -> None:
    found = weigh(exit_of(2, *lines), SCRATCH)
    assert (found.category, found.rule, found.weight) == (category, rule, weight)
    assert found.culprit == who(2)


@pytest.mark.parametrize(
    ("code", "signal", "signature", "weight"),
    [
        (None, 9, "SIGKILL", Weight.CAUSE),
        (137, None, "SIGKILL", Weight.CAUSE),
        (None, 11, "SIGSEGV", Weight.CAUSE),
        (17, None, "exit code 17", Weight.CAUSE),
        (None, 15, "SIGTERM", Weight.CASCADE),
        (143, None, "SIGTERM", Weight.CASCADE),
    ],
)
def test_an_exit_without_words_is_unknown_but_its_rank_is_named(
    code: int | None, signal: int | None, signature: str, weight: Weight
) -> None:
    found = weigh(exit_of(3, code=code, signal=signal), SCRATCH)
    assert (found.category, found.signature, found.weight) == (Category.UNKNOWN, signature, weight)
    assert found.culprit == who(3)


NO_MODULE = "/srv/venv/bin/python: No module named nosuchmod"


NO_SCRIPT = "python3: can't open file '/srv/absent.py': [Errno 2] No such file or directory"


DOES_NOT_COMPILE = ('  File "/srv/train.py", line 3', "    x = (", "        ^", "SyntaxError: '(' was never closed")


@pytest.mark.parametrize(
    ("lines", "code", "category", "rule"),
    [
        ((NO_MODULE,), 1, Category.USER_CONFIG, "module-missing"),
        ((NO_SCRIPT,), 2, Category.USER_CONFIG, "module-missing"),
        (raised("ModuleNotFoundError: No module named 'x'"), 1, Category.USER_CONFIG, "module-missing"),
        (raised("ImportError: cannot import name 'y' from 'x'"), 1, Category.USER_CONFIG, "module-missing"),
        (DOES_NOT_COMPILE, 1, Category.USER_CODE, "syntax"),
    ],
)
def test_a_program_that_cannot_start_is_not_worth_a_second_try(
    lines: tuple[str, ...], code: int, category: Category, rule: str
) -> None:
    found = weigh(exit_of(1, *lines, code=code, step=None, phase=Phase.STARTING), SCRATCH)
    assert (found.category, found.rule, found.retriable) == (category, rule, False)
    assert found.signature == lines[-1]


MISSING = raised("ModuleNotFoundError: No module named 'triton'")


@pytest.mark.parametrize(
    "seen",
    [
        exit_of(1, *MISSING, "training without triton", step=None),
        exit_of(1, *MISSING, code=3, step=None),
        exit_of(1, *MISSING, code=None, signal=11, step=None),
        exit_of(1, *MISSING, step=30),
        exit_of(1, *MISSING, step=None, generation=2),
        exit_of(1, *raised("KeyError: 'x'"), step=None),
    ],
    ids=["not its last words", "another exit code", "a signal", "after a step", "it started once", "another exception"],
)
def test_what_may_have_another_cause_or_heal_is_tried_again(seen: FaultDetected) -> None:
    assert weigh(seen, SCRATCH).retriable


def test_a_traceback_is_told_with_its_place() -> None:
    syntax = weigh(exit_of(1, *DOES_NOT_COMPILE), SCRATCH)
    assert syntax.because == "rank 1 said: SyntaxError: '(' was never closed at /srv/train.py, line 3"
    error = weigh(exit_of(1, *raised("KeyError: 'x'")), SCRATCH)
    assert error.because == "rank 1 raised KeyError: 'x' at /srv/train/train.py, line 19"
    assert "at " not in weigh(exit_of(1, "KeyError: 'x'"), SCRATCH).because


def test_a_long_path_is_cut_to_its_end() -> None:
    because = weigh(exit_of(1, *raised("KeyError: 'x'", frame=f'  File "/{"d" * 999}/a.py", line 7')), SCRATCH).because
    assert because.endswith("ddd/a.py, line 7")
    assert len(because) < 200


def test_an_exit_with_words_that_no_rule_knows_is_known_by_its_last_line() -> None:
    found = weigh(exit_of(3, "loading", "no licence left", "", code=17), SCRATCH)
    assert (found.category, found.signature) == (Category.UNKNOWN, "no licence left")
    assert found.because == "rank 3 ended by exit code 17 after 12.0 s; its last line: no licence left"


def test_only_an_exit_without_words_is_without_a_message() -> None:
    silent, spoke = (weigh(exit_of(3, *lines, signal=9), SCRATCH).because for lines in ((), ("step 3",)))
    assert silent == "rank 3 ended by SIGKILL without a message after 12.0 s"
    assert spoke == "rank 3 ended by SIGKILL after 12.0 s"


def test_what_a_killed_rank_printed_before_does_not_explain_the_kill() -> None:
    assert weigh(exit_of(1, *PEER_CLOSED, signal=9), SCRATCH).signature == "SIGKILL"


def test_a_kill_by_the_kernel_for_memory_is_out_of_memory() -> None:
    found = weigh(exit_of(1, "Out of memory: Killed process 27455 (python3).", signal=9), SCRATCH)
    assert found.category is Category.OOM_HOST


def test_the_exception_is_found_in_front_of_what_the_runtime_prints_behind_it() -> None:
    lines = plain(
        (
            "[rank0]: Traceback (most recent call last):",
            '[rank0]:   File "/srv/train.py", line 5, in <module>',
            "[rank0]:     main()",
            "[rank0]: ValueError: bad shape",
            "[rank0]: frame #0: c10::Error::Error() + 0x9d (0x7f4cc1179b8d in libc10.so)",
            "[rank0]:[W1129 ProcessGroup.cpp] Warning: destroy_process_group() was not called",
        )
    )
    assert exception_line(lines) == "ValueError: bad shape"


def test_a_traceback_cut_off_at_the_top_is_still_a_traceback() -> None:
    assert exception_line(("    at line 3 of the kernel", "RuntimeError: boom")) == "RuntimeError: boom"


def test_addresses_do_not_tell_two_failures_apart() -> None:
    first, second = (
        weigh(exit_of(0, *raised(f"TypeError: <Net object at {address}>")), SCRATCH) for address in ("0x7f1", "0x7f2")
    )
    assert first.signature == second.signature
