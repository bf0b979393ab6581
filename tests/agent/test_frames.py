"""What faulthandler's dumps say about waiting."""

import faulthandler
import tempfile
import threading

import pytest

from keepstep.agent.frames import FRAMES, Frame, main_thread, waits

SITE = "/venv/lib/python3.11/site-packages/"
BARRIER = f"""\
Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Current thread 0x00007f02 (most recent call first):
  File "{SITE}torch/distributed/distributed_c10d.py", line 4800 in barrier
  File "{SITE}torch/distributed/c10d_logger.py", line 83 in wrapper
  File "/work/train.py", line 40 in main
  File "/work/train.py", line 90 in <module>
"""
CASES = {
    "barrier": ([("torch/distributed/distributed_c10d.py", "barrier"), ("/w/train.py", "main")], True),
    "backward": ([("torch/autograd/graph.py", "_engine_run_backward"), ("torch/_tensor.py", "backward")], True),
    "ddp construction": ([("torch/distributed/utils.py", "_verify_param_shape_across_processes")], True),
    "ddp forward": (
        [("torch/nn/modules/module.py", "_call_impl"), ("torch/nn/parallel/distributed.py", "forward")],
        True,
    ),
    "lock in a backward hook": ([("/w/train.py", "hook"), ("torch/autograd/graph.py", "_engine_run_backward")], False),
    "lock": ([("/usr/lib/python3.11/threading.py", "acquire"), ("/w/train.py", "main")], False),
    "data loader": (
        [("/usr/lib/python3.11/multiprocessing/queues.py", "get"), ("torch/utils/data/dataloader.py", "_next_data")],
        False,
    ),
    "optimizer": ([("torch/optim/adam.py", "step"), ("/w/train.py", "main")], False),
}


def test_the_main_threads_frames_come_innermost_first() -> None:
    frames = main_thread(BARRIER)
    assert [str(frame) for frame in frames] == [
        "torch/distributed/distributed_c10d.py:barrier",
        "torch/distributed/c10d_logger.py:wrapper",
        "/work/train.py:main",
        "/work/train.py:<module>",
    ]
    assert waits(frames) is True


def test_without_a_current_thread_the_last_is_the_main_one() -> None:
    dump = BARRIER.replace("Current thread", "Thread")
    assert main_thread(dump) == main_thread(BARRIER)


@pytest.mark.parametrize("dump", ["", "garbage\n", "\0\0\0", '  File "x.py", line 1 in f\n'])
def test_a_text_without_threads_has_no_frames(dump: str) -> None:
    assert main_thread(dump) == ()
    assert waits(main_thread(dump)) is None


@pytest.mark.parametrize(("pairs", "expected"), CASES.values(), ids=CASES.keys())
def test_who_waits_for_others(pairs: list[tuple[str, str]], expected: bool) -> None:
    frames = tuple(
        Frame(file=SITE + file if file.startswith("torch") else file, function=function) for file, function in pairs
    )
    assert waits(frames) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    work.wait()", True),
        ("    total += loss.item()", True),
        ("    torch.cuda.synchronize()", True),
        ("    lock.acquire()", False),
        ("    time.sleep(1000)", False),
        ("", False),
    ],
)
def test_a_wait_for_a_handle_or_a_device_has_no_frame_of_its_own(line: str, expected: bool) -> None:
    frames = (Frame("/w/train.py", "main", 40), Frame("/w/train.py", "<module>", 90))
    assert waits(frames, lambda _frame: line) is expected


def test_the_callers_line_says_nothing_of_what_it_called() -> None:
    frames = (Frame(f"{SITE}torch/optim/adam.py", "step"), Frame("/w/train.py", "main"))
    assert waits(frames, lambda _frame: "work.wait()") is False


def test_moving_within_a_function_is_no_movement() -> None:
    assert main_thread(BARRIER) == main_thread(BARRIER.replace("line 4800", "line 4801"))


def test_a_real_dump_is_read() -> None:
    asleep = threading.Event()
    other = threading.Thread(target=asleep.wait)
    other.start()
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        frames = main_thread(file.read())
    asleep.set()
    other.join()
    assert frames[0].function == "test_a_real_dump_is_read"
    assert frames[0].file.endswith("test_frames.py")
    assert len(frames) == FRAMES
