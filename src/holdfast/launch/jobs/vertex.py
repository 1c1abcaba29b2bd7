"""A Vertex AI custom job: built with Google's own types, so that what is sent is what the service reads."""

from __future__ import annotations

import json
from typing import Any

from holdfast.errors import HoldfastError, UsageError, needs
from holdfast.launch.jobs.job_spec import Job, require_image

DEFAULT_MACHINE = "n1-standard-8"
MAX_DURATION = "604800s"  # a week, the most that a custom job may run


class CloudRefused(HoldfastError):
    """The service did not take the job."""

    slug = "cloud-refused"


def request(job: Job) -> Any:
    """The CustomJob of `google.cloud.aiplatform_v1`. An unknown field or a wrong type raises here."""
    types = _types()
    require_image(job)
    pools = [_pool(job, replicas) for replicas in ((1, job.hosts - 1) if job.hosts > 1 else (1,))]
    spec: dict[str, Any] = {
        "worker_pool_specs": pools,
        "scheduling": {
            "timeout": {"seconds": int(MAX_DURATION[:-1])},
            "restart_job_on_worker_restart": True,
            "strategy": "SPOT" if job.spot else "STANDARD",
        },
        "base_output_directory": {"output_uri_prefix": job.bucket},
    }
    if job.service_account:
        spec["service_account"] = job.service_account
    if job.tensorboard:
        spec["tensorboard"] = job.tensorboard
    try:
        return types.CustomJob(display_name=job.name, job_spec=spec, labels={"made-by": "holdfast"})
    except (ValueError, TypeError) as error:
        raise UsageError(
            "Vertex AI's own types do not take this job",
            where="the command line",
            found=str(error)[:300],
            change="--machine, --accelerator and the others as Vertex AI names them; --dry-run prints the job",
        ) from None


def _pool(job: Job, replicas: int) -> dict[str, Any]:
    machine: dict[str, Any] = {"machine_type": job.machine or DEFAULT_MACHINE}
    if job.accelerator:
        machine |= {
            "accelerator_type": accelerator_type(job.accelerator),
            "accelerator_count": job.accelerators,
        }
    return {
        "machine_spec": machine,
        "replica_count": replicas,
        "container_spec": {
            "image_uri": job.image,
            "command": ["sh", "-c"],
            "args": [job.script("/tmp/run")],
            "env": [
                {"name": "HOLDFAST_RECIPE", "value": job.recipe_text},
                {"name": "HOLDFAST_GROUP_TOKEN", "value": job.token},
            ],
        },
    }


def accelerator_type(name: str) -> str:
    """As the service spells it, or the nearest that it knows."""
    from holdfast.errors import nearest

    known = [one.name for one in _types().AcceleratorType]
    wanted = name.upper().replace("-", "_")
    for candidate in (wanted, f"NVIDIA_{wanted}", f"NVIDIA_TESLA_{wanted}"):
        if candidate in known:
            return candidate
    close = nearest(wanted, known)
    raise UsageError(
        f"Vertex AI knows no accelerator {name}",
        where="--accelerator",
        found="it knows " + ", ".join(one for one in known if one.startswith(("NVIDIA", "TPU")))[:400],
        change=f"--accelerator {close}" if close else "give one of these",
    )


def as_json(made: Any) -> str:
    """As `CustomJob.from_json` reads it."""
    return json.dumps(json.loads(type(made).to_json(made, including_default_value_fields=False)), indent=1)


def submit(job: Job, made: Any, *, endpoint: str = "") -> str:
    """Sends the job and returns its name."""
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError

    for key, value in (("--project", job.project), ("--region", job.region)):
        if not value:
            raise UsageError(
                f"{key} is needed to send a job",
                where="the command line",
                change=f"{key} NAME; or --dry-run, which prints the job and sends nothing",
            )
    try:
        client = _client(job.region, endpoint)
        parent = f"projects/{job.project}/locations/{job.region}"
        answer = client.create_custom_job(parent=parent, custom_job=made, timeout=60.0, retry=None)
    except GoogleAuthError as error:
        raise CloudRefused(
            "there are no credentials for Google Cloud, or they have expired",
            found=str(error)[:300],
            change="gcloud auth application-default login",
        ) from None
    except exceptions.GoogleAPICallError as error:
        raise refusal_error(error, job) from None
    return str(answer.name)


def refusal_error(error: Any, job: Job) -> CloudRefused:
    """The service's answer, in words that say what to do."""
    what, change = _ANSWERS.get(
        int(error.code or 0), ("Vertex AI did not take the job", "look at what it says")
    )
    if "quota" in str(error.message).lower():
        what, change = _ANSWERS[429]
    return CloudRefused(
        what.format(job=job), where=f"project {job.project}, {job.region}", found=str(error.message)[:400],
        change=change.format(job=job),
    )  # fmt: skip


_ANSWERS = {
    400: ("Vertex AI does not understand the job", "change what it names; `--dry-run` prints the job"),
    401: (
        "Vertex AI does not accept the credentials: none, or expired",
        "gcloud auth application-default login",
    ),
    403: (
        "these credentials may not start jobs in project {job.project}",
        "ask for the role roles/aiplatform.user, and iam.serviceAccounts.actAs on the service account",
    ),
    404: (
        "there is no such project or region for Vertex AI: {job.project}, {job.region}",
        "look at --project and --region, and that the API aiplatform.googleapis.com is enabled",
    ),
    429: (
        "the quota for this does not suffice in {job.region}",
        "ask for more of the quota that it names, or another --region or --accelerator, or --spot, which has its own",
    ),
}


def _client(region: str, endpoint: str) -> Any:
    from google.cloud.aiplatform_v1.services.job_service import JobServiceClient

    if not endpoint:
        return JobServiceClient(client_options={"api_endpoint": f"{region}-aiplatform.googleapis.com"})
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.aiplatform_v1.services.job_service.transports.rest import JobServiceRestTransport

    scheme, _, host = endpoint.rpartition("://")
    return JobServiceClient(
        transport=JobServiceRestTransport(
            host=host,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            url_scheme=scheme or "http",
        )
    )


def _types() -> Any:
    try:
        from google.cloud.aiplatform_v1 import types
    except ImportError:
        raise needs("google-cloud-aiplatform", "cloud", "launching on Vertex AI") from None
    return types
