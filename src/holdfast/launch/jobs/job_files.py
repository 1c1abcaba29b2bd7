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
        inner = f"apptainer exec {'--nv ' if job.accelerators else ''}{job.image} sh -c {shlex.quote(inner)}"
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
# SIGTERM comes {SCHEDULER_GRACE_S} s before the end of the time limit: all save at the same step and end.
#SBATCH --signal=TERM@{SCHEDULER_GRACE_S}
{"#SBATCH --qos=preemptible" if job.spot else "# --spot would add a preemptible QOS"}

# Processes: {shared}. The folder must be one that all hosts see.
export HOLDFAST_GROUP_TOKEN="$SLURM_JOB_ID"
export HOLDFAST_RECIPE={shlex.quote(job.recipe_text)}
srun --kill-on-bad-exit=0 {inner}
"""


def kubernetes(job: Job) -> dict[str, list[dict[str, Any]] | Any]:
    """A List: a headless service, by which pods find the first, and an indexed Job of one pod a host."""
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
            {"name": "HOLDFAST_GROUP_TOKEN", "value": job.name},
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
    return {"apiVersion": "v1", "kind": "List", "items": [service, batch]}


def kubernetes_text(job: Job) -> str:
    """JSON, which `kubectl apply -f -` takes as it takes YAML."""
    return json.dumps(kubernetes(job), indent=2)
