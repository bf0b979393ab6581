"""Which modules make sentences for people, and what sentences stand in their source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEAKING = (
    "services/keepstep/checkpoint_manager/core/*.py",
    "services/keepstep/checkpoint_manager/files.py",
    "services/keepstep/detector/core/*.py",
    "services/keepstep/diagnoser/core/*.py",
    "services/keepstep/isolator/core/*.py",
    "services/keepstep/isolator/hand.py",
    "services/keepstep/notifier/core/*.py",
    "services/keepstep/notifier/core/outgoing/*.py",
    "services/keepstep/scheduler_adapter/core/*.py",
    "services/keepstep/scheduler_adapter/hand.py",
    "services/keepstep/console/access.py",
    "services/keepstep/console/context.py",
    "services/keepstep/console/desk.py",
    "services/keepstep/console/guard.py",
    "services/keepstep/console/hub.py",
    "services/keepstep/console/login/attempts.py",
    "services/keepstep/console/login/claims.py",
    "services/keepstep/console/login/door.py",
    "services/keepstep/console/login/forms.py",
    "services/keepstep/console/login/gatekeeper.py",
    "services/keepstep/scheduler_adapter/orders.py",
    "services/keepstep/console/ground.py",
    "services/keepstep/console/objects.py",
    "services/keepstep/console/public_faults.py",
    "services/keepstep/console/showing.py",
    "services/keepstep/console/model/job.py",
    "services/keepstep/console/model/story.py",
    "services/keepstep/console/pages/*.py",
    "libs/keepstep/asking/cautions.py",
    "libs/keepstep/asking/labels.py",
    "libs/keepstep/asking/namespaces.py",
    "libs/keepstep/asking/specification.py",
    "libs/keepstep/asking/tolerance_args.py",
    "libs/keepstep/core/asides.py",
    "libs/keepstep/core/awaiting.py",
    "libs/keepstep/core/isolation_end.py",
    "libs/keepstep/core/levels.py",
    "libs/keepstep/core/sentences.py",
    "libs/keepstep/core/silent_mentions.py",
    "libs/keepstep/injection/*.py",
    "libs/keepstep/diagnosis/exits.py",
    "libs/keepstep/diagnosis/finding.py",
    "libs/keepstep/diagnosis/verdict.py",
    "libs/keepstep/agent/fence.py",
    "libs/keepstep/agent/reconcile.py",
    "libs/keepstep/agent/node/looks.py",
    "libs/keepstep/adapters/channel_apprise.py",
    "libs/keepstep/adapters/channel_directory.py",
    "libs/keepstep/adapters/channel_guard.py",
    "libs/keepstep/adapters/channel_mail.py",
    "libs/keepstep/adapters/channel_post.py",
    "libs/keepstep/adapters/channel_replies.py",
    "libs/keepstep/adapters/channel_robot.py",
    "libs/keepstep/adapters/channel_secret.py",
    "libs/keepstep/adapters/channel_webhook.py",
    "libs/keepstep/adapters/kube_adopt.py",
    "libs/keepstep/adapters/kube_binding.py",
    "libs/keepstep/adapters/kube_due.py",
    "libs/keepstep/adapters/kube_errors.py",
    "libs/keepstep/adapters/kube_fleet.py",
    "libs/keepstep/adapters/kube_job.py",
    "libs/keepstep/adapters/kube_jobset.py",
    "libs/keepstep/adapters/kube_loss.py",
    "libs/keepstep/adapters/kube_mindcluster.py",
    "libs/keepstep/adapters/kube_observe.py",
    "libs/keepstep/adapters/kube_overruled.py",
    "libs/keepstep/adapters/kube_plan.py",
    "libs/keepstep/adapters/kube_pytorchjob.py",
    "libs/keepstep/adapters/kube_restart.py",
    "libs/keepstep/adapters/kube_steps.py",
    "libs/keepstep/adapters/kube_tasks.py",
    "libs/keepstep/adapters/kube_trainjob.py",
    "libs/keepstep/adapters/kube_view.py",
    "libs/keepstep/adapters/kube_volcano.py",
    "libs/keepstep/adapters/kube_workloads.py",
    "libs/keepstep/adapters/local_cluster.py",
    "libs/keepstep/adapters/local_placement.py",
    "libs/keepstep/adapters/local_task.py",
)
QUIET = ("chinese.py", "chinese_create.py", "formats.py", "live.py", "pods.py", "rendering.py", "telling.py")
"""Words themselves, and what no person reads."""
HELD = "\0"
"""What stands for a hole."""


def sentences() -> dict[str, str]:
    """Return every sentence of the speaking modules, its holes marked, with where it stands."""
    found: dict[str, str] = {}
    for pattern in SPEAKING:
        paths = sorted(ROOT.glob(pattern))
        assert paths, f"{pattern} is no module any more"
        for path in paths:
            if path.name not in QUIET:
                for line, text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
                    if is_sentence(text):
                        found.setdefault(text, f"{path.relative_to(ROOT)}:{line}")
    return found


def is_sentence(text: str) -> bool:
    """Tell a sentence from a name or a piece of one: it has two words of its own, side by side."""
    return bool(re.search(r"[A-Za-z]{2,}[,:;]? [a-z]{2,}", text))


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(_piece(value) for value in node.values)
            for value in node.values:
                yield from _texts(value) if isinstance(value, ast.FormattedValue) else ()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, re.sub(r"\{v\.\w+\}", HELD, node.value)
        elif not _is_unsaid(node):
            yield from _texts(node)


def _piece(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else HELD


def _is_unsaid(node: ast.AST) -> bool:
    """Tell what is no sentence to people: docstrings, assertions, errors of ours, lines of the log."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return isinstance(node.exc.func, ast.Name) and node.exc.func.id in ("ValueError", "TypeError")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("warning", "error", "info", "exception")
    return isinstance(node, ast.Assert)
