"""Manifests on disk and on the screen: YAML or JSON, several in one file."""

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import yaml

from keepstep.adapters.kube_json import JsonObject
from keepstep.cli.errors import Refused


class Form(StrEnum):
    """How manifests are printed."""

    YAML = "yaml"
    JSON = "json"


def load(path: Path) -> tuple[JsonObject, ...]:
    """Return the documents of a file, ``-`` for standard input; raises Refused with the line of the first mistake."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        found = [one for one in yaml.safe_load_all(text) if one is not None]
    except OSError as error:
        raise Refused(f"-f {path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"-f {path}: byte {error.start} is not UTF-8") from error
    except RecursionError:
        raise Refused(f"-f {path}: nested too deep") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}, "
        raise Refused(f"-f {path}: {where}not YAML: {getattr(error, 'problem', None) or error}") from error
    flat = tuple(_object(one, path) for each in found for one in _items(each))
    if not flat:
        raise Refused(f"-f {path}: there is no document in it")
    return flat


def _object(document: object, path: Path) -> JsonObject:
    if not isinstance(document, Mapping):
        raise Refused(f"-f {path}: a document is {type(document).__name__} and no object of a cluster")
    return document


def _items(document: object) -> Sequence[object]:
    """Return the objects of a List, or the one object."""
    if isinstance(document, Mapping) and document.get("kind") == "List":
        items = document.get("items")
        return items if isinstance(items, list) else []
    return [document]


def text_of(documents: Sequence[JsonObject], form: Form) -> str:
    """Return the documents as text that ``kubectl apply -f -`` takes."""
    if form is Form.JSON:
        one = documents[0] if len(documents) == 1 else {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        return json.dumps(one, indent=1, ensure_ascii=False) + "\n"
    # Through JSON: what stands in a document twice would come out as an anchor and an alias.
    return yaml.dump_all(
        [json.loads(json.dumps(one)) for one in documents],
        Dumper=_Plain,
        sort_keys=False,
        allow_unicode=True,
        width=120,
        explicit_start=len(documents) > 1,
    )


class _Plain(yaml.SafeDumper):
    """Writes no anchors, and texts of several lines as such."""

    def ignore_aliases(self, data: object) -> bool:
        """Write everything where it stands."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Plain.add_representer(str, _text)
