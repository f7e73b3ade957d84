"""A real SLURM on simulated hosts: the controller on `login`, where users work, and a slurmd on each other host.

All files are in the test's folder, all daemons in the hosts' namespaces: they end with the hosts, whatever happens.
"""

import os
import shutil
import subprocess

from hosts import why_not
from processes import until

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol", "sinfo")
SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # of daemons
CPUS, GPUS = 8, 2  # that each node claims to have; the real ones do not matter

# proctrack/linuxproc and these task plugins use no cgroups, which the hosts share with this machine. SLURM looks at the queue
# every second instead of once in a minute, and gives a silent node up after ten seconds instead of five minutes: srun waits
# for the tasks of a lost node until then.
CONFIGURATION = """
ClusterName=test
SlurmctldHost=login({login})
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin={task_plugin}
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=10
InactiveLimit=0
SlurmdTimeout=10
MinJobAge=300
JobRequeue=1
GresTypes=gpu
NodeName={nodes} CPUs={cpus} Sockets=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000 Gres=gpu:{gpus}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why SLURM cannot run here; empty: it can."""
    absent = [program for program in PROGRAMS if not shutil.which(program, path=SYSTEM_PATH)]
    return f"not installed: {', '.join(absent)}" if absent else why_not()


class Slurm:
    """`login` and `nodes` are hosts of the test."""

    def __init__(self, net, folder, binds=False):
        """`binds`: SLURM binds tasks to cores, so that nodes have no more than the real ones."""
        self.net, self.login, self.nodes = net, net["login"], [host for host in net if host.name != "login"]
        self.folder, self.binds = folder, binds
        self.environment = {"SLURM_CONF": folder / "slurm.conf", "PATH": f"{net.binary.parent}:{SYSTEM_PATH}"}
        self.configure()
        options = (f"--{name}={folder}/munge.{name.split('-')[0]}" for name in ("key-file", "socket", "pid-file", "log-file", "seed-file"))
        self.daemon(self.login, "munged", *options, "--force")
        self.daemon(self.login, "slurmctld")
        for node in self.nodes:
            self.daemon(node, "slurmd", "-N", node.name)
        until(lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(self.nodes)), 30, "SLURM's nodes")

    def configure(self):
        self.folder.mkdir()
        (self.folder / "state").mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        for number in range(GPUS):
            os.mknod(self.folder / f"gpu{number}", 0o20666, os.makedev(1, 3))
        names = ",".join(node.name for node in self.nodes)
        values = {"login": self.login.address, "user": "root", "folder": self.folder, "nodes": names, "gpus": GPUS}
        values.update(cpus=os.cpu_count() if self.binds else CPUS, task_plugin="task/affinity" if self.binds else "task/none")
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(**values))
        (self.folder / "gres.conf").write_text(f"NodeName={names} Name=gpu File={self.folder}/gpu[0-{GPUS - 1}]\n")
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")

    def daemon(self, host, program, *options):
        """Starts a program that puts itself into the background of the host."""
        words = host.enter(self.folder, shutil.which(program, path=SYSTEM_PATH), *options)
        environment = {**os.environ, **{name: str(value) for name, value in self.environment.items()}}
        with open(self.folder / f"{program}.start", "ab") as output:
            done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        assert done.returncode == 0, (self.folder / f"{program}.start").read_text()

    def ask(self, *words):
        """The output of a program of SLURM's."""
        environment = {**os.environ, **{name: str(value) for name, value in self.environment.items()}}
        words = self.login.enter(self.folder, *map(str, words))
        return subprocess.run(words, env=environment, capture_output=True, text=True).stdout

    def srun(self, *words, env=None):
        """srun on `login`: its options, the program and its arguments. A Running."""
        return self.login.start(*words, program="srun", env={**self.environment, **(env or {})})

    def sbatch(self, script, *options, arguments=(), env=None):
        """Submits a file, or the text of a script; the job's id."""
        if not hasattr(script, "read_text"):
            path = self.folder / f"batch-{len(list(self.folder.glob('batch-*')))}"
            path.write_text("#!/bin/sh\n" + script)
            script = path
        words = ["--parsable", f"--output={self.folder}/%j.out", "--open-mode=append", *options, str(script), *map(str, arguments)]
        run = self.login.start(*words, program="sbatch", env={**self.environment, **(env or {})})
        result = run.wait()
        assert result.rc == 0, result.err
        return result.out.strip()

    def job(self, job):
        """A job's record, by name."""
        words = self.ask("scontrol", "show", "job", job).split()
        return dict(word.partition("=")[::2] for word in words if "=" in word)

    def output(self, job):
        path = self.folder / f"{job}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def ended(self, job, seconds=40):
        """Waits for a batch job's end; its exit status and its output."""
        going_on = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED")
        until(lambda: self.job(job).get("JobState", "PENDING") not in going_on, seconds, f"the end of job {job}")
        return int(self.job(job)["ExitCode"].split(":")[0]), self.output(job)

    def empty(self, seconds=10):
        """Asserts that no process of a job lives on any node."""
        daemons = ("slurmd", "slurmstepd", "slurmctld", "munged", "srun", "sbatch")
        def jobs():
            return [pid for node in self.nodes for pid in node.pids() if name_of(pid) not in daemons]
        until(lambda: not jobs(), seconds, f"the end of all jobs: {[name_of(pid) for pid in jobs()]}")


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return "slurmd"  # it has ended meanwhile
