"""Job files for SLURM and Kubernetes, from the same words as the Vertex job. Pure; they are text to look at."""

from __future__ import annotations

import json
import shlex
from typing import Any

from holdfast.launch.cluster import PORT
from holdfast.launch.jobs.job_spec import Job, require_image
from holdfast.shared_limits import SCHEDULER_GRACE_S


def slurm(job: Job) -> str:
    """A batch script: one task a host, requeued when its machine is taken away."""
    each = job.recipe.hardware.processes // job.hosts
    kind = f"{job.accelerator}:" if job.accelerator else ""
    gpus = f"#SBATCH --gres=gpu:{kind}{job.accelerators}\n" if job.accelerators else ""
    shared = f"{each} a host on {job.hosts} hosts" if job.hosts > 1 else f"{each} on one host"
    inner = f"mkdir -p {job.name} && cd {job.name} && {job.script('run')}"
    if job.image:
        words = ("--nv", job.image) if job.accelerators else (job.image,)
        inner = f"apptainer exec {shlex.join(words)} sh -c {shlex.quote(inner)}"
    else:
        inner = f"sh -c {shlex.quote(inner)}"
    return f"""\
#!/bin/bash
#SBATCH --job-name={job.name}
#SBATCH --nodes={job.hosts}
#SBATCH --ntasks={job.hosts}
#SBATCH --ntasks-per-node=1
{gpus}#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={job.name}-%j.log
# SIGUSR1 comes to this script {SCHEDULER_GRACE_S} s before the time limit: all save at the same step and end.
#SBATCH --signal=B:USR1@{SCHEDULER_GRACE_S}
{"#SBATCH --qos=preemptible" if job.spot else "# --spot would add a preemptible QOS"}

# Processes: {shared}. The folder must be one that all hosts see.
export HOLDFAST_GROUP_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')
export HOLDFAST_RECIPE={shlex.quote(job.recipe_text)}
{_SLURM_RUN.format(inner=inner, stopped=STOPPED_CODE)}"""


STOPPED_CODE = 143  # of a group that saved and ended at SIGTERM
#: SLURM does not requeue a job that ends by itself, neither within the grace time of a preemption nor before its time
#: limit, so the script does. A job that was cancelled stays cancelled.
_SLURM_RUN = """\
at_limit=
trap 'at_limit=1; scancel --signal=TERM "$SLURM_JOB_ID"' USR1
trap : TERM CONT
srun --kill-on-bad-exit=0 {inner} &
step=$!
wait $step; code=$?
while kill -0 $step 2>/dev/null; do wait $step; code=$?; done
preempted() {{ scontrol show job -o "$SLURM_JOB_ID" | grep -q 'JobState=RUNNING.* PreemptTime=[0-9]'; }}
if [ $code -eq {stopped} ] && {{ [ -n "$at_limit" ] || preempted; }}; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
"""


def kubernetes(job: Job) -> dict[str, list[dict[str, Any]] | Any]:
    """A List: the group's token, a headless service, by which pods find the first, and an indexed Job of one pod a
    host."""
    require_image(job)
    labels = {"app": "holdfast", "run": job.name}
    container: dict[str, Any] = {
        "name": "train",
        "image": job.image,
        "command": ["sh", "-c", job.script("/run/holdfast")],
        "env": [
            {"name": "HOLDFAST_RECIPE", "value": job.recipe_text},
            {"name": "HOLDFAST_HEAD", "value": f"{job.name}-0.{job.name}"},
            {"name": "HOLDFAST_HOSTS", "value": str(job.hosts)},
            {
                "name": "HOLDFAST_GROUP_TOKEN",
                "valueFrom": {"secretKeyRef": {"name": job.name, "key": "token"}},
            },
            # Which pod and node, for the verdict of a run that was moved or started again.
            {"name": "HOLDFAST_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
            {"name": "HOLDFAST_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {
                "name": "HOLDFAST_SCRATCH_BYTES",  # that of the node, where the container has no limit
                "valueFrom": {
                    "resourceFieldRef": {"containerName": "train", "resource": "limits.ephemeral-storage"}
                },
            },
        ],
        "ports": [{"containerPort": PORT, "name": "coordinator"}],
        "volumeMounts": [{"name": "run", "mountPath": "/run/holdfast"}],
    }
    if job.accelerators:
        container["resources"] = {"limits": {"nvidia.com/gpu": job.accelerators}}
    pod: dict[str, Any] = {
        "subdomain": job.name,
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": SCHEDULER_GRACE_S,
        "containers": [container],
        "volumes": [{"name": "run", "emptyDir": {}}],
    }
    if job.service_account:
        pod["serviceAccountName"] = job.service_account
    if job.spot:
        pod["nodeSelector"] = {"cloud.google.com/gke-spot": "true"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": job.name, "labels": labels},
        "stringData": {"token": job.token},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": job.name, "labels": labels},
        "spec": {"clusterIP": "None", "selector": labels, "publishNotReadyAddresses": True},
    }
    batch = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job.name, "labels": labels},
        "spec": {
            "completions": job.hosts,
            "parallelism": job.hosts,
            "completionMode": "Indexed",
            "backoffLimit": 10 * job.hosts,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return {"apiVersion": "v1", "kind": "List", "items": [secret, service, batch]}


def kubernetes_text(job: Job) -> str:
    """JSON, which `kubectl apply -f -` takes as it takes YAML."""
    return json.dumps(kubernetes(job), indent=2)
