"""Events of earlier versions stay readable, and the schemas are what the models say.

``NodeIsolated.json`` is the message as it was first said; once a field is added, ``NodeIsolated.2.json`` shows it.
"""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from keepstep.cli import schemas
from keepstep.contracts.events import SAID_BY, JobAccepted
from keepstep.contracts.message import messages
from keepstep.contracts.orders import CreateJob
from tests.contracts.examples import example

GOLDEN = Path(__file__).parent / "golden" / "v1"
SCHEMAS = Path(__file__).parents[2] / "schemas"
FILES = sorted(path.name for path in GOLDEN.glob("*.json"))


def name_of(file: str) -> str:
    """Return the message that a golden file shows."""
    return file.partition(".")[0]


def newest(name: str) -> Path:
    """Return the file with all fields that the message has by now."""
    numbered = GOLDEN.glob(f"{name}.[0-9]*.json")
    return max(numbered, key=lambda path: int(path.suffixes[0][1:]), default=GOLDEN / f"{name}.json")


@pytest.mark.parametrize("file", FILES)
def test_a_golden_event_is_read_and_written_the_same(file: str) -> None:
    text = (GOLDEN / file).read_text(encoding="utf-8")
    kind = messages()[name_of(file)]
    message = kind.model_validate_json(text)
    assert not _lost(json.loads(text), json.loads(message.model_dump_json()))
    assert kind.model_validate_json(message.model_dump_json()) == message


def _lost(old: object, new: object) -> list[str]:
    """Return where ``new`` lacks or changes what ``old`` says; a field that came later is no loss."""
    match old, new:
        case dict(), dict():
            return [
                f"{key}.{rest}"
                for key, value in old.items()
                for rest in (["missing"] if key not in new else _lost(value, new[key]))
            ]
        case list(), list() if len(old) == len(new):
            return [f"{at}.{rest}" for at, pair in enumerate(zip(old, new, strict=True)) for rest in _lost(*pair)]
        case _:
            return [] if old == new else [f"{old!r} became {new!r}"]


@pytest.mark.parametrize("name", sorted(messages()))
def test_a_golden_event_with_an_unknown_field_is_still_read(name: str) -> None:
    text = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    messages()[name].read(json.dumps(text | {"a_field_of_the_future": 1}))


def from_the_future(name: str) -> str:
    text = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    text["spec"]["policy"]["detection"]["a_field_of_the_future"] = 1
    return json.dumps(text)


def test_a_policy_of_the_future_is_read_in_an_event() -> None:
    golden = (GOLDEN / "JobAccepted.json").read_text(encoding="utf-8")
    assert JobAccepted.read(from_the_future("JobAccepted")) == JobAccepted.read(golden)


def test_a_policy_that_nobody_knows_is_refused_in_an_order() -> None:
    with pytest.raises(ValidationError, match="a_field_of_the_future"):
        CreateJob.read(from_the_future("CreateJob"))


@pytest.mark.parametrize("file", FILES)
def test_a_golden_event_satisfies_its_schema(file: str) -> None:
    document = json.loads((SCHEMAS / "json" / f"{name_of(file)}.json").read_text(encoding="utf-8"))
    Draft202012Validator(document).validate(json.loads((GOLDEN / file).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", sorted(messages()))
def test_every_field_of_a_message_has_a_golden_value(name: str) -> None:
    """A field added to a model needs a new golden file, so that somebody thinks about the old ones."""
    golden = json.loads(newest(name).read_text(encoding="utf-8"))
    assert set(golden) == set(messages()[name].model_fields)
    assert set(golden) == set(json.loads(example(messages()[name]).model_dump_json()))


def test_the_checked_in_schemas_are_current() -> None:
    there = {str(path.relative_to(SCHEMAS)): path.read_text(encoding="utf-8") for path in SCHEMAS.rglob("*.json")}
    assert there == schemas.files(), "run: make schemas"


def test_every_message_has_a_speaker_and_every_speaker_a_message() -> None:
    assert set(schemas.speakers()) == set(messages())


def test_the_asyncapi_document_has_a_channel_per_message_and_no_dangling_reference() -> None:
    document = schemas.asyncapi()
    assert set(document["channels"]) == set(messages())  # type: ignore[call-overload]  # a JSON document; its channels are a table
    for reference in _references(document):
        node: object = document
        for part in reference.removeprefix("#/").split("/"):
            assert isinstance(node, dict)
            node = node[part]


def _references(node: object) -> list[str]:
    match node:
        case {"$ref": str(reference)}:
            return [reference]
        case dict():
            return [found for value in node.values() for found in _references(value)]
        case list():
            return [found for value in node for found in _references(value)]
        case _:
            return []


def test_operations_are_the_table_of_who_says_what() -> None:
    operations = schemas.asyncapi()["operations"]
    assert isinstance(operations, dict)
    for speaker, kinds in SAID_BY.items():
        said = {name.removeprefix(f"{speaker}.") for name in operations if name.startswith(f"{speaker}.")}
        assert said == {kind.__name__ for kind in kinds}
