"""The writing verbs: each reads its body and options, asks the webhooks and calls the store."""

from collections.abc import Callable

from .asked import Asked, check_fields, check_head, check_meant, check_name, delete_options, patch_type, read_body
from .binding import bind
from .decoding import check_patch_types
from .errors import ApiError, bad_request
from .eviction import evict
from .kinds import JOB, POD
from .listing import Lists, list_of
from .mutating import Admission, Mutators
from .objects import Obj
from .options import check_patch, check_write
from .patches import PatchType
from .store import Store

Answer = tuple[int, Obj, list[str]]
"""Status code, body and warnings."""
_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)


class Verbs:
    """Writes on behalf of the HTTP layer."""

    def __init__(self, store: Store, lists: Lists, mutators: Mutators) -> None:
        self._store = store
        self._lists = lists
        self._mutators = mutators
        self.read_log: Callable[[Obj, str], str] = lambda *_: ""

    def log(self, asked: Asked) -> str:
        """Return a container's output. Raises ApiError (404, 400 for a pod that has not started)."""
        target = asked.target
        pod = self._store.get(POD, target.name, target.within)
        names = [container["name"] for container in pod["spec"]["containers"]]
        container = asked.query.get("container") or names[0]
        if not asked.query.get("container") and len(names) > 1:
            listed = f"choose one of: [{' '.join(names)}]"
            raise bad_request(f"a container name must be specified for pod {target.name}, {listed}")
        if pod["status"].get("phase") == "Pending":
            raise bad_request(f'container "{container}" in pod "{target.name}" is waiting to start: ContainerCreating')
        lines = self.read_log(pod, container).splitlines(keepends=True)
        tail = asked.query.get("tailLines")
        return "".join(lines[-int(tail) :] if tail and int(tail) else [] if tail else lines)

    async def create(self, asked: Asked) -> Answer:
        """POST: an object, an eviction or a binding."""
        target, obj = asked.target, read_body(asked.body, asked.media)
        if target.subresource == "eviction":
            if asked.dry_run:
                obj = obj | {"deleteOptions": (obj.get("deleteOptions") or {}) | {"dryRun": ["All"]}}
            return 201, evict(self._store, target.name, target.within, obj), []
        if target.subresource == "binding":
            bind(self._store, target.name, target.within, obj["target"]["name"], manager=asked.manager)
            return 201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, []
        if target.name or (target.kind.namespaced and target.namespace is None):
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        check_write("CreateOptions", asked.query)
        check_head(target, obj)
        warnings = check_fields(asked, obj)
        if self._mutators.wants(target, "CREATE"):
            admission = Admission(target, "CREATE", asked.user, obj, None, asked.dry_run)
            obj, more = await self._mutators.admit(admission)
            warnings += more
        manager, dry_run = asked.manager, asked.dry_run
        return 201, self._store.create(target.kind, obj, target.within, manager=manager, dry_run=dry_run), warnings

    async def update(self, asked: Asked) -> Answer:
        """PUT."""
        target, obj = asked.target, read_body(asked.body, asked.media)
        check_write("UpdateOptions", asked.query)
        check_head(target, obj)
        check_name(target, obj)
        warnings = check_fields(asked, obj)
        if self._mutators.wants(target, "UPDATE"):
            old = self._store.get(target.kind, target.name, target.within)
            obj, more = await self._mutators.admit(Admission(target, "UPDATE", asked.user, obj, old, asked.dry_run))
            warnings += more
        return 200, self._put(asked, obj), warnings

    async def patch(self, asked: Asked) -> Answer:
        """PATCH of any type."""
        target, how = asked.target, patch_type(asked.media)
        change = read_body(asked.body, "application/yaml" if how is PatchType.APPLY else "application/json")
        if how is not PatchType.JSON:
            check_patch_types(target.kind, change)
            check_meant(target, change)
        check_patch(asked.query, change, apply=how is PatchType.APPLY)
        force = asked.query.get("force") == "true"
        absent = self._store.find(target.kind, target.name, target.within) is None
        warnings = [] if how is PatchType.JSON else check_fields(asked, change)
        mutated = self._mutators.wants(target, "UPDATE") and not absent
        obj = self._store.patch(
            target.kind,
            target.name,
            change,
            target.within,
            how=how,
            subresource=target.subresource,
            manager=asked.manager,
            force=force,
            dry_run=asked.dry_run or mutated,
        )
        if mutated:
            old = self._store.get(target.kind, target.name, target.within)
            obj, more = await self._mutators.admit(Admission(target, "UPDATE", asked.user, obj, old, asked.dry_run))
            return 200, self._put(asked, obj), warnings + more
        return 201 if absent else 200, obj, warnings

    async def delete(self, asked: Asked) -> Answer:
        """DELETE of one object."""
        target, options = asked.target, delete_options(asked)
        obj = self._store.delete(target.kind, target.name, target.within, options)
        warnings = [_ORPHANS] if target.kind is JOB and options.propagation is None else []
        held = self._store.find(target.kind, target.name, target.within)
        if target.kind.graceful or held is not None:
            return 200, obj, warnings
        group = {"group": target.kind.group} if target.kind.group else {}
        details = {"name": target.name, **group, "kind": target.kind.plural, "uid": obj["metadata"]["uid"]}
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return 200, head | {"details": details}, warnings

    async def delete_collection(self, asked: Asked) -> Answer:
        """DELETE of all that the selectors take."""
        options, kind = delete_options(asked), asked.target.kind
        page = self._lists.page(asked.target, asked.query)
        gone = []
        for item in page["items"]:
            meta = item["metadata"]
            gone.append(self._store.delete(kind, meta["name"], meta.get("namespace", ""), options))
        return 200, list_of(kind, gone, {"resourceVersion": str(self._store.version)}), []

    def _put(self, asked: Asked, obj: Obj) -> Obj:
        target = asked.target
        return self._store.update(
            target.kind,
            obj,
            target.within,
            subresource=target.subresource,
            manager=asked.manager,
            dry_run=asked.dry_run,
        )
