"""Fault-tolerance options of other platforms become a policy, or are refused by name."""

from datetime import timedelta

import pytest

from keepstep.asking.tolerance_args import enabled, of_config, of_flags
from keepstep.cli.errors import Refused
from keepstep.contracts.pattern import Pattern
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Level, Phase


def test_no_flags_are_the_default_policy() -> None:
    assert of_flags("") == Policy()
    assert of_config("{}") == Policy()


def test_every_flag_sets_what_it_is_called_after() -> None:
    policy = of_flags(
        "--enable-replace=false --enable-hang-detection --hang-detection-log-timeout-minutes=7"
        " --hang-detection-startup-toleration-minutes 20 --hang-detection-stack-timeout-minutes 3"
        " --max-num-of-unconditional-retry 2 --unconditional-retry-observe-seconds 600"
        " --custom-log-patterns 'Loss (nan)' --custom-log-patterns=diverged"
    )
    detection, recovery = policy.detection, policy.recovery
    assert recovery.levels == (Level.WAIT, Level.IN_PLACE, Level.JOB)
    assert (detection.hang_detection, detection.hang_limit) == (True, timedelta(minutes=7))
    assert detection.outlier_after == timedelta(minutes=3)
    assert detection.phase_limits[Phase.STARTING] == detection.phase_limits[Phase.INIT] == timedelta(minutes=20)
    for budget in (recovery.crash, recovery.unknown):
        assert (budget.count, budget.window) == (2, timedelta(minutes=10))
    assert [pattern.name for pattern in detection.log_patterns] == ["custom-1", "custom-2"]


def test_a_log_pattern_is_taken_word_for_word() -> None:
    (pattern,) = of_flags("--custom-log-patterns 'Loss (nan)'").detection.log_patterns
    assert Pattern(pattern.regex).found_in("step 3: Loss (nan) at rank 1")
    assert not Pattern(pattern.regex).found_in("Loss nan")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--enable-replce", "--enable-replce is none of its flags; they are --enable-replace, "),
        ("enable-replace", "enable-replace is none of its flags"),
        ("--enable-replace=yes", "--enable-replace yes: it takes true or false"),
        (
            "--max-num-of-unconditional-retry 4",
            "--max-num-of-unconditional-retry 4: it takes a whole number from 0 to 3",
        ),
        ("--max-num-of-unconditional-retry", "retry without a value: it takes a whole number from 0 to 3"),
        ("--hang-detection-log-timeout-minutes=0", "0: it takes a whole number from 1 to 1440"),
        ("--unconditional-retry-observe-seconds 1.5", "1.5: it takes a whole number"),
        ("--custom-log-patterns=", "--custom-log-patterns without a value: it takes a text"),
        ("--custom-log-patterns 'x", "a quotation is not closed"),
        ("--enable-checkpoint-migration", "--enable-checkpoint-migration does nothing here; leave it out"),
    ],
)
def test_a_flag_that_cannot_be_obeyed_is_refused_by_its_name(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        of_flags(text)
    assert said in str(refused.value)
    assert str(refused.value).startswith("--fault-tolerance-args: ")


def test_all_flags_that_are_wrong_are_told_at_once() -> None:
    """A line of five mistakes took five tries."""
    line = "--what 7 --hang-detection-log-timeout-minutes --enable-replace=maybe --so=what odd --custom-log-patterns x"
    with pytest.raises(Refused) as refused:
        of_flags(line)
    told = [one.removeprefix("--fault-tolerance-args: ").partition(":")[0] for one in refused.value.mistakes]
    assert [one.partition(" is none")[0] for one in told] == [
        "--what",
        "--hang-detection-log-timeout-minutes without a value",
        "--enable-replace maybe",
        "--so=what",
        "odd",
    ]


def test_the_structured_form_sets_the_same() -> None:
    policy = of_config(
        '{"enabledHangDetection": false, "hangDetectionTimeoutMinutes": 9, "faultToleranceLimit": 3,'
        ' "customFaultTolerancePattern": ["Loss nan"]}'
    )
    assert (policy.detection.hang_detection, policy.detection.hang_limit) == (False, timedelta(minutes=9))
    assert policy.recovery.restart_limit == 3
    assert len(policy.detection.log_patterns) == 1


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"faultToleranceLimt": 3}', "faultToleranceLimt"),
        ('{"faultToleranceLimit": -1}', "faultToleranceLimit"),
        ("{", "the JSON"),
    ],
)
def test_a_structured_field_that_cannot_be_obeyed_is_named(text: str, field: str) -> None:
    with pytest.raises(Refused, match=f"--fault-tolerance-config: {field}: .*its fields are enabledHangDetection"):
        of_config(text)


@pytest.mark.parametrize(
    ("flag", "env", "wanted"),
    [
        (False, (), False),
        (True, (), True),
        (False, ("faulttolerance=true",), True),
        (False, ("FAULTTOLERANCE=True", "A=b"), True),
        (True, ("faulttolerance=true",), True),
        (False, ("faulttolerance=false",), False),
    ],
)
def test_the_flag_and_the_variable_switch_it_on_alike(flag: bool, env: tuple[str, ...], wanted: bool) -> None:
    assert enabled(flag=flag, env=env) is wanted


@pytest.mark.parametrize(
    ("flag", "env", "said"),
    [
        (True, ("faulttolerance=false",), "contradicts --enable-fault-tolerance"),
        (False, ("faulttolerance=false", "faulttolerance=true"), "contradicts --env faulttolerance=true"),
        (False, ("faulttolerance=1",), "write true or false"),
    ],
)
def test_a_contradiction_is_refused(flag: bool, env: tuple[str, ...], said: str) -> None:
    with pytest.raises(Refused, match=said):
        enabled(flag=flag, env=env)
