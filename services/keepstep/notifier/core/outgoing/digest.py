"""What goes out together, and as what: one line per thread, the most urgent first, no incident left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from keepstep.contracts.channel_parts import RANK
from keepstep.contracts.events import NotificationQueued
from keepstep.contracts.ids import derive
from keepstep.contracts.notice import NOBODY, Member, Mentions
from keepstep.contracts.taxonomy import AlertKind, Stage
from keepstep.core.sentences import counted
from keepstep.notifier.core.outgoing.state import REMEMBERED, Sending, Waiting
from keepstep.ports.sink import Notice

LINES = 30
"""Threads of one digest: with an incident's 32 digits each they fit into the 4,096 bytes of a WeCom message."""


def chosen(due: Sequence[Waiting]) -> tuple[Waiting, ...]:
    """Return what of that goes into one digest: all messages of the most urgent threads, of equals the oldest."""
    first: dict[str, int] = {}
    worst: dict[str, int] = {}
    for place, item in enumerate(due):
        thread, rank = item.queued.thread, RANK[item.queued.severity]
        first.setdefault(thread, place)
        worst[thread] = max(worst.get(thread, 0), rank)
    threads = set(sorted(first, key=lambda thread: (-worst[thread], first[thread]))[:LINES])
    return tuple(item for item in due if item.queued.thread in threads)


def notice_of(sending: Sending, mentions: Mentions = NOBODY) -> Notice:
    """Return what the channel gets; ``mentions`` are those of ``names_of`` as its vendor knows them."""
    items = tuple(item.queued for item in sending.items)
    notice = _single(items[0], mentions) if len(items) == 1 else _digest(sending.id, items, mentions)
    return notice if sending.number is None else replace(notice, sequence=sending.number)


def number_of(items: Sequence[Waiting], sent: Mapping[str, int]) -> int | None:
    """Return which message of their thread these are to a channel, to which so many of each thread went."""
    threads = {item.queued.thread for item in items}
    return sent.get(next(iter(threads)), 0) + 1 if len(threads) == 1 else None


def sent_with(items: Sequence[Waiting], sent: Mapping[str, int]) -> dict[str, int]:
    """Return how many messages of each thread went to the channel once these have."""
    threads = {item.queued.thread: sent.get(item.queued.thread, 0) + 1 for item in items}
    left = {thread: count for thread, count in sent.items() if thread not in threads}
    return dict([*left.items(), *threads.items()][-REMEMBERED:])


def names_of(sending: Sending) -> tuple[str, ...]:
    """Return the names of all people and groups that it calls."""
    return tuple(dict.fromkeys(name for item in sending.items for name in item.queued.mention))


def members_of(items: Sequence[NotificationQueued]) -> tuple[Member, ...]:
    """Return a line per thread: its last message's title, its worst severity; the most urgent first."""
    last: dict[str, NotificationQueued] = {}
    worst: dict[str, NotificationQueued] = {}
    for item in items:
        last[item.thread] = item
        if item.thread not in worst or RANK[item.severity] > RANK[worst[item.thread].severity]:
            worst[item.thread] = item
    ranked = sorted(last.values(), key=lambda item: -RANK[worst[item.thread].severity])
    return tuple(
        Member(
            id=item.notice,
            title=item.title,
            incident=item.incident,
            severity=worst[item.thread].severity,
            stage=item.stage,
        )
        for item in ranked
    )


def batch_id(items: Sequence[Waiting]) -> str:
    """Return what names this delivery: a single message by its own id, so that channels can tell it comes again."""
    if len(items) == 1:
        return items[0].queued.notice
    return derive("digest", *(part for item in items for part in (item.queued.notice, item.at.isoformat())))


def _single(item: NotificationQueued, mentions: Mentions) -> Notice:
    return Notice(
        id=item.notice,
        thread=item.thread,
        sequence=item.sequence,
        severity=item.severity,
        weight=item.weight,
        title=item.title,
        text=item.text,
        facts=item.facts,
        kind=item.kind,
        event=item.event,
        stage=item.stage,
        incident=item.incident,
        job="" if item.job is None else item.job.name,
        subject=item.subject,
        at=item.at,
        links=item.links,
        mentions=mentions,
    )


def _digest(name: str, items: Sequence[NotificationQueued], mentions: Mentions) -> Notice:
    threads = {item.thread for item in items}
    incidents = {item.incident for item in items if item.incident is not None}
    kinds, worst, newest = {item.kind for item in items}, max(items, key=lambda item: RANK[item.severity]), items[-1]
    about = f" about {counted(len(incidents), 'incident')}" if incidents else ""
    return Notice(
        id=name,
        thread=newest.thread if len(threads) == 1 else name,
        sequence=newest.sequence if len(threads) == 1 else 1,
        severity=worst.severity,
        weight=max((item.loudness for item in items), key=RANK.__getitem__),
        title=f"{counted(len(items), 'message')}{about}",
        text="",
        kind=newest.kind if len(kinds) == 1 else AlertKind.STACK,
        stage=Stage.NOTE,
        incident=newest.incident if len(incidents) == 1 and len(threads) == 1 else None,
        at=newest.at,
        links=newest.links[:1] if len(threads) == 1 else (),
        mentions=mentions,
        members=members_of(items),
    )
