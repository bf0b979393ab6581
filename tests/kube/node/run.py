"""One pod on its node: its folder, its namespaces, its containers' programs. Acts as ``lifecycle`` says."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..server.objects import Obj
from .environment import Find, Image, Missing, argv_of, env_of, hostname_of
from .lifecycle import Act, Verb, longer
from .processes import Bind, ContainerSpec, Started, members, start_container, start_pause
from .states import Container, End, Shown, Times, Why, containers_of
from .volumes import Places, Sources, Token, binds, fill, write_hosts

_NEVER_STARTED = 128


@dataclass(frozen=True)
class Outside:
    """What a pod needs of the world around it; ``image`` returns None for one that cannot be pulled."""

    find: Find
    token: Token
    image: Callable[[str], Image | None]
    always: tuple[Bind, ...]
    times: Times
    now: Callable[[], datetime]
    poke: Callable[[], None]
    """Says that something happened to a container."""

    @property
    def sources(self) -> Sources:
        """Return where the content of volumes comes from."""
        return Sources(self.find, self.token)


class Run:
    """A pod on its node; ``pod`` is what the kubelet last saw of the object."""

    def __init__(self, pod: Obj, places: Places, ips: tuple[str, str], outside: Outside) -> None:
        self.pod = pod
        self.containers = containers_of(pod)
        self.gone = False
        self._places = places
        self._ips = ips
        self._outside = outside
        self._since = outside.now()
        self._volumes: dict[str, Path] = {}
        self._programs: dict[str, Started] = {}
        self._pause: Started | None = None
        self._ready = False
        (places.pod / "logs").mkdir(parents=True)

    @property
    def uid(self) -> str:
        """Return the pod's uid."""
        uid: str = self.pod["metadata"]["uid"]
        return uid

    @property
    def folder(self) -> Path:
        """Return what the kubelet keeps of the pod on its node."""
        return self._places.pod

    @property
    def shown(self) -> Shown:
        """Return what the status says besides the containers."""
        return Shown(self._ips[0], self._ips[1], self._since, self._ready)

    def prepare(self) -> Why | None:
        """Make volumes and namespaces; return why the containers have to wait, None when they need not."""
        try:
            self._volumes = fill(self._seen(), self._places, self._outside.sources)
        except Missing as missing:
            return Why("ContainerCreating", f"MountVolume.SetUp failed: {missing}")
        write_hosts(self.pod, self._ips[0], self._places.pod / "hosts")
        if not self.pod["spec"].get("shareProcessNamespace"):
            self._ready = True
        elif self._pause is None:
            self._pause = start_pause(begun=self._pause_begun, ended=lambda _: None)
        return None if self._ready else Why("ContainerCreating")

    def refresh(self) -> None:
        """Bring the volumes in line with what the pod's object says by now."""
        if self._programs:
            with suppress(Missing):
                fill(self._seen(), self._places, self._outside.sources)

    def do(self, act: Act) -> None:
        """Carry out one act that is due."""
        one = act.container
        match act.verb:
            case Verb.START:
                self._start(one)
            case Verb.END:
                one.told_to_end = act.at
                self._programs[one.name].terminate()
            case Verb.KILL:
                one.killed = True
                self._programs[one.name].kill()
            case Verb.BACK_OFF:
                if one.end is not None and one.back_off is not None:
                    name = f"{self.pod['metadata']['name']}_{self.pod['metadata']['namespace']}({self.uid})"
                    told = f"back-off {one.back_off.seconds}s restarting failed container={one.name} pod={name}"
                    one.why = Why("CrashLoopBackOff", told)

    def kill(self, name: str, *, oom: bool = False) -> None:
        """Kill a container as the kernel does."""
        self.containers.named(name).oom = oom
        self._programs[name].kill()

    def drop(self) -> None:
        """Kill everything at once, as a power cut does; the states stay as they were."""
        for program in [*([self._pause] if self._pause else []), *self._programs.values()]:
            program.close()
        self._programs.clear()
        self._pause = None
        self._ready = False

    def find_dead(self) -> None:
        """Take note, after a power cut, that no container is there any more (as containerd tells it: Unknown, 255)."""
        for one in self.containers.all:
            if one.alive:
                self._note_end(one, 255, "Unknown", "")

    def clear(self) -> None:
        """Leave nothing of the pod behind."""
        self.drop()
        shutil.rmtree(self._places.pod)

    def pids(self) -> list[int]:
        """Return the pids of all the pod's processes on this machine, those of the kubelet's own left out."""
        if self._pause is not None:
            return members(self._pause.pid)
        return [pid for program in self._programs.values() for pid in members(program.pid)]

    def log(self, container: str, *, previous: bool = False) -> str:
        """Return what a container wrote, "" if it never ran."""
        file = self._log(container, self.containers.named(container).restarts - previous)
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def _start(self, one: Container) -> None:
        now, image = self._outside.now(), self._outside.image(one.spec["image"])
        if image is None:
            self._wait_for_image(one)
            return
        one.pulled, one.pull_back_off = True, None
        try:
            env = env_of(one.spec, self._seen(), image, self._outside.find)
            spec = self._spec(one, env, image)
        except Missing as missing:
            one.why = Why("CreateContainerConfigError", str(missing))
            one.not_before = now + self._outside.times.wait(self._outside.times.look_again)
            return
        if one.end is not None:
            one.last, one.end = one.end, None
            one.restarts += 1
            one.back_off = longer(one, self._outside.times)
        one.starting, one.why, one.not_before, one.oom, one.refused = True, None, None, False, ""
        file = self._places.pod / f"{one.name}.json"
        self._programs[one.name] = start_container(
            spec, file, self._log(one.name, one.restarts), begun=self._begun(one), ended=self._ended(one)
        )

    def _spec(self, one: Container, env: Mapping[str, str], image: Image) -> ContainerSpec:
        seen = binds(one.spec, self.pod, self._volumes, self._places.pod / "hosts", env)
        return ContainerSpec(
            sandbox=None if self._pause is None else self._pause.pid,
            hostname=hostname_of(self.pod),
            binds=[*self._outside.always, *seen],
            argv=argv_of(one.spec, image, env),
            env=env,
            cwd=one.spec.get("workingDir") or image.workdir,
        )

    def _seen(self) -> Obj:
        """Return the pod with the addresses that its status will have: containers are started before it is written."""
        pod_ip, host_ip = self._ips
        ips = {"podIP": pod_ip, "podIPs": [{"ip": pod_ip}], "hostIP": host_ip}
        return {**self.pod, "status": {**(self.pod.get("status") or {}), **ips}}

    def _wait_for_image(self, one: Container) -> None:
        times, image = self._outside.times, one.spec["image"]
        if one.pull_back_off is None:
            one.pull_back_off = times.first_back_off
            told = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": not found'
            one.why = Why("ErrImagePull", f"rpc error: code = NotFound desc = {told}")
        else:
            told = f'Back-off pulling image "{image}": ErrImagePull: rpc error: code = NotFound desc = not found'
            one.why = Why("ImagePullBackOff", told)
            one.pull_back_off = min(one.pull_back_off * 2, times.longest_back_off)
        one.not_before = self._outside.now() + times.wait(one.pull_back_off)

    def _pause_begun(self, why: str) -> None:
        self._ready = not why
        self._outside.poke()

    def _begun(self, one: Container) -> Callable[[str], None]:
        def hear(why: str) -> None:
            if why:
                one.refused = f"failed to start container: {why}"
            else:
                one.starting, one.running = False, self._outside.now()
                self._outside.poke()

        return hear

    def _ended(self, one: Container) -> Callable[[int], None]:
        def hear(code: int) -> None:
            del self._programs[one.name]
            if one.refused:
                self._note_end(one, _NEVER_STARTED, "StartError", one.refused)
            else:
                reason = "OOMKilled" if one.oom else "Error" if code else "Completed"
                self._note_end(one, code, reason, "")
            self._outside.poke()

        return hear

    def _note_end(self, one: Container, code: int, reason: str, message: str) -> None:
        now = self._outside.now()
        one.end = End(code, reason, now, one.running, message, one.restarts)
        one.starting, one.running, one.told_to_end, one.killed = False, None, None, False

    def _log(self, container: str, start: int) -> Path:
        return self._places.pod / "logs" / f"{container}-{start}.log"
