"""Lines that kernels and drivers really wrote: which are a device's fault, which a node's, and which are nothing."""

import errno
import os
from pathlib import Path

import pytest

from keepstep.agent.node.kernel import Seen, seen_in
from keepstep.agent.node.kmsg import KmsgFile, Record, Syslog, kernel_log, record_of, records_of
from keepstep.diagnosis.rules import RULES

XID79 = "NVRM: Xid (PCI:7468:d8:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
LOST = (
    "NVRM: The NVIDIA GPU 1791:18:00.0\nNVRM: (PCI ID: 10de:2186) installed in this system has\n"
    "NVRM: fallen off the bus and is not responding to commands."
)
XFS = "XFS (nvme0n1p1): Corruption of in-memory data detected.  Shutting down filesystem"
HURTS = [
    (XID79, "Xid 79", "7468:d8:00"),
    (LOST, "GpuLost", "1791:18:00.0"),
    ("mlx5_core 0000:00:00.0: poll_health:694:(pid 0): Fatal error 1 detected", "NicFailed", "0000:00:00.0"),
    (
        "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0",
        "PcieFatal",
        "0000:01:00.0",
    ),
    ("nvme nvme4: Disabling device after reset failure: -19", "NvmeLost", "nvme4"),
    ("mce: [Hardware Error]: event severity: fatal", "MachineCheck", None),
    ("CPU 0: Machine Check Exception: 0 Bank 5: 8c00004000010090", "MachineCheck", None),
    (XFS, "FilesystemDown", None),
]
TOLD = [
    (
        "NVRM: Xid (PCI:7955:af:00): 109, pid=1991709, name=pt_main_thread, errorString CTX SWITCH TIMEOUT",
        "Xid 109",
        "7955:af:00",
    ),
    (
        "NVRM: Xid (PCI:2013:af:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 17 (0x04084507 0x00000004)",
        "Xid 145",
        "2013:af:00",
    ),
    (
        "NVRM: Xid (PCI:1812:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
        "Xid 154",
        "1812:3b:00",
    ),
    (
        "mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 268269): Detected insufficient power on the PCIe slot (27W).",
        "NicPower",
        "0000:5c:00.0",
    ),
    ("watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [python3:2254956]", "SoftLockup", None),
    ("INFO: task jfsmount:136986 blocked for more than 120 seconds.", "HungTask", None),
    ("BUG: unable to handle kernel NULL pointer dereference at 0000000000000010", "KernelOops", None),
    ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2", "FilesystemError", None),
    ("EXT4-fs (dm-0): I/O error while writing superblock", "FilesystemError", None),
    ("Out of memory: Killed process 27455 (nginx).", "SystemOutOfMemory", None),
    ("block nvme0n1: no available path - failing I/O", "NvmePath", "nvme0n1"),
]
NOTHING = [
    "NVRM: Xid (PCI:9779:1a:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7)",
    "NVRM: Xid (PCI:6991:1a:00): 31, pid=86387, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS faulted",
    "NVRM: Xid (PCI:9313:1a:00): 45, pid=4602037, name=python3, Ch 00000001 caused by previous Xid 149",
    "NVRM: Xid (PCI:2408:86:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping",
    "NVRM: Xid (PCI:4943:1a:00): 94, pid=<pid>, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No",
    "nvidia-nvswitch2: SXid (PCI:0000:1a:00.0): 20034, Severity 1 Engine instance 60 Sub-engine instance 00",
    "nvidia-nvswitch3: SXid (PCI:0000:af:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
    "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:838:(pid 1441871): ACCESS_REG(0x805) op_mod(0x1) failed, status bad",
    "mlx5_core 0000:01:00.0 enp1s0f0np0: Link up",
    "postgres invoked oom-killer: gfp_mask=0x201d2, order=0, oomkilladj=0",
    "Memory cgroup out of memory: Killed process 812 (python) total-vm:8kB",
    "mce: [Hardware Error]: Machine check events logged",
    "nfs: server 192.0.2.16 OK",
    "EXT4-fs (vda): mounted filesystem r/w without journal. Quota mode: none.",
]


@pytest.mark.parametrize(("text", "code", "device"), HURTS, ids=[code for _, code, _ in HURTS])
def test_what_takes_a_device_or_the_machine_away_hurts_a_training(text: str, code: str, device: str | None) -> None:
    assert seen_in(Record(1, text)) == Seen(code, device, hurts=True, text=" ".join(text.split()))


@pytest.mark.parametrize(("text", "code", "device"), TOLD, ids=[code for _, code, _ in TOLD])
def test_what_a_training_may_well_survive_is_told_and_no_fault(text: str, code: str, device: str | None) -> None:
    assert seen_in(Record(1, text)) == Seen(code, device, hurts=False, text=" ".join(text.split()))


@pytest.mark.parametrize("text", NOTHING)
def test_what_a_training_causes_itself_and_what_is_benign_or_a_detail_is_nothing(text: str) -> None:
    assert seen_in(Record(1, text)) is None


def test_a_switch_error_that_takes_the_whole_fabric_down_hurts() -> None:
    seen = seen_in(Record(1, "nvidia-nvswitch0: SXid (PCI:0000:1a:00.0): 12020, Fatal, Link 03 sequence ID error"))
    assert seen is not None
    assert (seen.code, seen.device, seen.hurts) == ("SXid 12020", "0000:1a:00.0", True)


@pytest.mark.parametrize("text", [XID79, LOST])
def test_the_diagnosis_knows_a_lost_device_by_the_text_that_is_told(text: str) -> None:
    seen = seen_in(Record(1, text))
    assert seen is not None
    rule = next(rule for rule in RULES if rule.pattern.search(f"{seen.code} {seen.text}"))
    assert (rule.name, rule.isolate) == ("gpu-off-bus", True)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ("6,339,5140900,-;NET: Registered protocol family 10", Record(5140900, "NET: Registered protocol family 10")),
        (f"3,3973,227996636,-;{XID79}", Record(227996636, XID79)),
        (r"3,4,7,c,caller=T1;two\x0alines", Record(7, "two\nlines")),
        (" SUBSYSTEM=pci", None),
        ("", None),
        ("garbage without a head", None),
    ],
)
def test_a_line_of_dev_kmsg_is_a_record_or_a_property_of_the_one_before(line: str, record: Record | None) -> None:
    assert record_of(line) == record


def test_lines_of_one_instant_are_one_record_of_the_ring() -> None:
    ring = [
        " 0.325349] cut by the ring's end",
        "<5>[    1.266811] virtio_blk virtio1: [vda] new size",
        *(f"<3>[   12.000007] {line}" for line in LOST.splitlines()),
        f"<3>[ 6433012.258176][  T123] {XID79}",
    ]
    found = records_of(ring)
    assert found == (
        Record(1266811, "virtio_blk virtio1: [vda] new size"),
        Record(12000007, LOST),
        Record(6433012258176, XID79),
    )


def test_a_pipe_is_read_without_waiting_and_a_line_that_is_half_written_next_time(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    os.mkfifo(path)
    log = KmsgFile(path)
    with path.open("wb", buffering=0) as kernel:
        assert log.new() == []
        kernel.write(b"6,1,10,-;first\n SUBSYSTEM=pci\n6,2,20,-;sec")
        assert log.new() == [Record(10, "first")]
        kernel.write(b"ond\n")
        assert log.new() == [Record(20, "second")]
        kernel.write(b"\xff\xfe\n6,3,30,-;third\n")
        assert log.new() == [Record(30, "third")]


def test_what_the_kernel_has_overwritten_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kmsg"
    path.write_bytes(b"6,9,90,-;what is left\n")
    log, read, calls = KmsgFile(path), os.read, [0]

    def overwritten(file: int, size: int) -> bytes:
        calls[0] += 1
        if calls[0] == 1:
            raise BrokenPipeError(errno.EPIPE, "overwritten")
        return read(file, size)

    monkeypatch.setattr("keepstep.agent.node.kmsg.os.read", overwritten)
    assert log.new() == [Record(90, "what is left")]


def test_the_log_of_this_machine_is_read_where_that_is_allowed() -> None:
    try:
        ring = Syslog()
    except OSError as refused:
        pytest.skip(f"the kernel's log is not for us: {refused}")
    assert ring.new()
    assert ring.new() == []


def test_where_there_is_no_device_the_ring_is_read(tmp_path: Path) -> None:
    try:
        assert isinstance(kernel_log(tmp_path / "none"), Syslog)
    except OSError as refused:
        pytest.skip(f"the kernel's log is not for us: {refused}")
