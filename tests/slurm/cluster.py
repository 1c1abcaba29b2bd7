"""A SLURM cluster on one machine: a controller and nodes, each with its own network, host name and processes.

A node is a network namespace on one bridge, with namespaces of its own for processes, mounts and the host name. So
`power_off` ends all its processes at once, as pulling the plug does, and `unplug` cuts its cable. All files are in one
folder, and `close` leaves nothing behind. It needs root, Linux, and Debian's slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.supervise.scheduler.slurm import fields

BRIDGE, PREFIX, NETWORK = "hfsbr", "hfs", "10.78.0"
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged", "ip", "unshare", "nsenter")
PACKAGES = "slurmctld slurmd slurm-client munge iproute2 util-linux"
SILENT_NODE_S = 15  # SlurmdTimeout
CONFIG = """\
ClusterName=holdfast
SlurmctldHost=head({network}.254)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
PlugStackConfig={folder}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout={timeout}
MessageTimeout=5
KillWait=30
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=bf_interval=5,sched_interval=5,preempt_youngest_first
NodeName=DEFAULT CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory={memory} State=UNKNOWN
{nodes}
PartitionName=train Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=60 MaxTime=INFINITE
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE
"""


def missing() -> list[str]:
    """What keeps a cluster from being set up here, in words; empty where nothing does."""
    os.environ["PATH"] += os.pathsep + "/usr/sbin"
    found = [f"{name} is not installed (Debian: {PACKAGES})" for name in PROGRAMS if not shutil.which(name)]
    return found + ([] if os.geteuid() == 0 else ["only root can make namespaces"])


class Cluster:
    def __init__(self, folder: Path, *, nodes: int = 3, memory_mb: int = 6000) -> None:
        self.folder, self.names = folder, [f"node{number}" for number in range(nodes)]
        self._memory_mb = memory_mb
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self._munged: subprocess.Popen[bytes] | None = None

    # -- from nothing to idle nodes, and back ----------------------------------------------------------

    def start(self) -> None:
        self._remove_networks()
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)
        self._write_files()
        _ip(f"link add {BRIDGE} type bridge")
        _ip(f"link set {BRIDGE} up")
        for name in ("head", *self.names):
            self._plug_in(name)
        self._start_munge()
        self._boot("head", f"slurmctld -D -f {self.folder}/slurm.conf")
        for name in self.names:
            self.boot(name)
        self.wait_until(lambda: all(self.state(name).startswith("IDLE") for name in self.names), 60.0)

    def close(self) -> None:
        for process in [*self._hosts.values(), *([self._munged] if self._munged else [])]:
            process.kill()
            process.wait()
        self._remove_networks()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what happens to a node ------------------------------------------------------------------------

    def boot(self, name: str) -> None:
        """Starts a node; one that runs is switched off first."""
        if name in self._hosts:
            self._hosts[name].kill()
            self._hosts[name].wait()
        self._boot(name, f"slurmd -D -N {name} -f {self.folder}/slurm.conf")

    def power_off(self, name: str) -> None:
        """Every process of the node ends at once, and its address answers no more."""
        self.unplug(name)
        self._hosts[name].kill()
        self._hosts[name].wait()
        self.plug(name)

    def unplug(self, name: str) -> None:
        _ip(f"-n {PREFIX}-{name} link set eth0 down")

    def plug(self, name: str) -> None:
        _ip(f"-n {PREFIX}-{name} link set eth0 up")

    def is_up(self, name: str) -> bool:
        """It has power, and SLURM hears of it."""
        return self._hosts[name].poll() is None and "NOT_RESPONDING" not in self.state(name)

    # -- the commands of SLURM -------------------------------------------------------------------------

    def command(self, *words: str, cwd: Path | None = None, codes: tuple[int, ...] = (0,)) -> str:
        """As a user types it on the head node. Raises RuntimeError with what it printed."""
        done = subprocess.run(
            [*self._inside("head"), *words], cwd=cwd, env=self._environment(), capture_output=True, text=True,
            timeout=60,
        )  # fmt: skip
        if done.returncode not in codes:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def state(self, name: str) -> str:
        with contextlib.suppress(RuntimeError):
            return fields(self.command("scontrol", "show", "node", name, "-o")).get("State", "")
        return ""

    def job(self, number: str) -> dict[str, str]:
        """Empty once SLURM has forgotten it."""
        with contextlib.suppress(RuntimeError):
            return fields(self.command("scontrol", "show", "job", number, "-o"))
        return {}

    @staticmethod
    def wait_until(done: Callable[[], bool], within_s: float) -> None:
        until = time.monotonic() + within_s
        while not done():
            if time.monotonic() > until:
                raise TimeoutError(f"not within {within_s:.0f} s")
            time.sleep(1.0)

    # -- inside ----------------------------------------------------------------------------------------

    def _write_files(self) -> None:
        names = "\n".join(
            f"NodeName={name} NodeAddr={NETWORK}.{index + 1}" for index, name in enumerate(self.names)
        )
        config = CONFIG.format(
            folder=self.folder, network=NETWORK, nodes=names, timeout=SILENT_NODE_S, memory=self._memory_mb
        )
        (self.folder / "slurm.conf").write_text(config)
        (self.folder / "plugstack.conf").write_text("")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for name in ("state", *(f"spool-{name}" for name in self.names)):
            (self.folder / name).mkdir()
        lines = ["127.0.0.1 localhost", f"{NETWORK}.254 head"]
        lines += [f"{NETWORK}.{index + 1} {name}" for index, name in enumerate(self.names)]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)

    def _plug_in(self, name: str) -> None:
        """A network namespace with one cable, to the bridge."""
        number = self._number(name)
        space, outer = f"{PREFIX}-{name}", self._cable(name)
        _ip(f"netns add {space}")
        _ip(f"link add {outer} type veth peer name eth0 netns {space}")
        _ip(f"link set {outer} master {BRIDGE} up")
        _ip(f"-n {space} addr add {NETWORK}.{number}/24 dev eth0")
        _ip(f"-n {space} link set eth0 up")
        _ip(f"-n {space} link set lo up")

    def _number(self, name: str) -> int:
        return 254 if name == "head" else self.names.index(name) + 1

    def _cable(self, name: str) -> str:
        return f"{PREFIX}{self._number(name)}"

    def _start_munge(self) -> None:
        where = self.folder
        words = ["munged", "--foreground", "--force", f"--socket={where}/munge.socket"]
        words += [f"--{name}-file={where}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self._munged = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until((where / "munge.socket").exists, 20.0)

    def _boot(self, name: str, daemon: str) -> None:
        """The shell is process 1 of the node, and takes in its orphans; when it is killed, so are all others."""
        script = (
            f"hostname {name} && mount --bind {self.folder}/hosts /etc/hosts && {daemon} & "
            "while :; do wait; sleep 1; done"
        )
        with (self.folder / f"console-{name}.log").open("ab") as log:
            self._hosts[name] = subprocess.Popen(
                ["nsenter", f"--net=/var/run/netns/{PREFIX}-{name}", "unshare", "--uts", "--mount", "--pid", "--fork",
                 "--kill-child", "--mount-proc", "sh", "-c", script],
                env=self._environment(), cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def _inside(self, name: str) -> list[str]:
        return ["nsenter", f"--net=/var/run/netns/{PREFIX}-{name}"]

    def _environment(self) -> dict[str, str]:
        return os.environ | {"SLURM_CONF": f"{self.folder}/slurm.conf"}

    def _remove_networks(self) -> None:
        for name in ("head", *self.names):  # the cable first: it outlives its namespace for a moment
            subprocess.run(["ip", "link", "del", self._cable(name)], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "del", f"{PREFIX}-{name}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True, check=False)


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)
