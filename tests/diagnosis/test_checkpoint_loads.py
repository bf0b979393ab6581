"""A checkpoint that does not load is named, and none is given up for another failure."""

import pytest

from keepstep.contracts.taxonomy import Category, Phase
from keepstep.diagnosis.finding import Resumed
from keepstep.diagnosis.verdict import weigh
from tests.diagnosis.facts import exit_of, raised

TORCH_LOAD = '  File "/srv/venv/lib/python3.11/site-packages/torch/serialization.py", line 1500, in load'


@pytest.mark.parametrize(
    ("lines", "step", "phase", "resumed", "bad"),
    [
        (raised("RuntimeError: PytorchStreamReader failed reading zip archive"), 20, Phase.LOAD, 20, 20),
        (raised("_pickle.UnpicklingError: invalid load key, 'x'"), 20, Phase.STARTING, 20, 20),
        (raised("EOFError: Ran out of input", frame=TORCH_LOAD), None, Phase.STARTING, None, None),
        (
            raised("json.decoder.JSONDecodeError: Expecting value", frame='  File "/t.py", line 3, in load_checkpoint'),
            20,
            Phase.STARTING,
            20,
            20,
        ),
    ],
)
def test_a_checkpoint_that_does_not_load_is_named(
    lines: tuple[str, ...], step: int | None, phase: Phase, resumed: int | None, bad: int | None
) -> None:
    found = weigh(exit_of(0, *lines, step=step, phase=phase), Resumed(step=resumed))
    assert (found.category, found.rule, found.bad_checkpoint) == (Category.STORAGE, "checkpoint-load", bad)


@pytest.mark.parametrize(
    ("lines", "step", "phase"),
    [
        (raised("_pickle.UnpicklingError: invalid load key, 'x'"), 25, Phase.STEP),
        (raised("json.decoder.JSONDecodeError: Expecting value"), 20, Phase.STARTING),
        (raised("torch.OutOfMemoryError: CUDA out of memory.", frame=TORCH_LOAD), 20, Phase.LOAD),
        (raised("RuntimeError: Error(s) in loading state_dict for Net"), 20, Phase.LOAD),
    ],
)
def test_no_good_checkpoint_is_given_up_for_another_failure(lines: tuple[str, ...], step: int, phase: Phase) -> None:
    found = weigh(exit_of(0, *lines, step=step, phase=phase), Resumed(step=20, path="/ckpt/step_20.pt"))
    assert found.bad_checkpoint is None
    assert found.rule != "checkpoint-load"
