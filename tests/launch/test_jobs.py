"""Jobs for Vertex AI, SLURM and Kubernetes: what is sent is what the other side reads."""

from __future__ import annotations

import json
import shlex
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import main
from holdfast.errors import ContradictorySettings, HoldfastError, UsageError
from holdfast.launch.jobs import job_files
from holdfast.launch.jobs.job_spec import Job, accelerator_of, check, name_of
from holdfast.report.text import render_error
from holdfast.settings import resolve

RECIPE = """\
[data]
train = "gs://images/kangaroo"
[train]
backend = "jax"
batch = 32
[hardware]
processes = 4
"""
CLOUD = ["--image", "europe-docker.pkg.dev/p/r/holdfast:1", "--bucket", "gs://runs/a", "--hosts", "4",
         "--machine", "g2-standard-12", "--accelerator", "L4", "--service-account", "me@p.iam.gserviceaccount.com",
         "--spot", "--tensorboard", "projects/1/locations/europe-west4/tensorboards/2"]  # fmt: skip


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "Kangaroo run.toml"
    path.write_text(RECIPE)
    return str(path)


def job(**more: Any) -> Job:
    tables = tomllib.loads(RECIPE)
    return Job("kangaroo", resolve(tables), image="img:1", hosts=2, bucket="gs://runs/a/kangaroo", **more)


def test_names_and_accelerators() -> None:
    assert name_of("recipes/Kangaroo run_2.toml") == "kangaroo-run-2"
    assert accelerator_of("NVIDIA_L4:2") == ("NVIDIA_L4", 2)
    assert accelerator_of("a100") == ("a100", 1)
    assert accelerator_of(None) == ("", 0)
    with pytest.raises(UsageError, match="no number"):
        accelerator_of("L4:")


def test_a_path_of_this_machine_is_refused_for_another(stored: Callable[[str, str], None]) -> None:
    local = Job("a", resolve({"data": {"train": "data/kangaroo"}}))
    with pytest.raises(ContradictorySettings) as found:
        check(local, remote_data=True)
    stored("launch/local-data", render_error(found.value, width=100, colour=False))
    check(local, remote_data=False)


def test_the_slurm_script(stored: Callable[[str, str], None]) -> None:
    made = job(accelerators=4, accelerator="a100")
    script = job_files.slurm(made)
    assert shlex.quote(made.recipe_text) in script
    stored("launch/slurm", script.replace(shlex.quote(made.recipe_text), "THE RECIPE"))
    line = next(one for one in script.splitlines() if one.startswith("srun"))
    assert shlex.split(line.removesuffix(" &"))[-1].startswith("mkdir -p kangaroo")


def test_an_image_is_one_word_of_the_slurm_script() -> None:
    made = replace(job(), image="i:1 $(touch x)")
    line = next(one for one in job_files.slurm(made).splitlines() if one.startswith("srun"))
    assert "i:1 $(touch x)" in shlex.split(line)


def test_the_kubernetes_job() -> None:
    made = json.loads(job_files.kubernetes_text(job(accelerators=1, spot=True)))
    secret, service, batch = made["items"]
    assert service["spec"]["clusterIP"] == "None"
    assert batch["spec"]["completionMode"] == "Indexed"
    assert (batch["spec"]["completions"], batch["spec"]["parallelism"]) == (2, 2)
    pod = batch["spec"]["template"]["spec"]
    assert pod["subdomain"] == service["metadata"]["name"]
    given = pod["containers"][0]["env"]
    environment = {one["name"]: one["value"] for one in given if "value" in one}
    asked = {one["name"]: one["valueFrom"] for one in given if "valueFrom" in one}
    assert asked["HOLDFAST_GROUP_TOKEN"]["secretKeyRef"] == {
        "name": secret["metadata"]["name"],
        "key": "token",
    }
    assert asked["HOLDFAST_NODE"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert environment["HOLDFAST_HEAD"] == "kangaroo-0.kangaroo"
    assert tomllib.loads(environment["HOLDFAST_RECIPE"])["hardware"]["processes"] == 4
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert pod["nodeSelector"] == {"cloud.google.com/gke-spot": "true"}


@pytest.mark.hot
def test_vertex_dry_run_is_parsed_by_googles_types(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    types = pytest.importorskip("google.cloud.aiplatform_v1.types")
    assert main(["launch", "vertex", recipe, "--dry-run", *CLOUD]) == 0
    read = types.CustomJob.from_json(capsys.readouterr().out)
    assert read.display_name == "kangaroo-run"
    first, rest = read.job_spec.worker_pool_specs
    assert (first.replica_count, rest.replica_count) == (1, 3)
    assert first.machine_spec.machine_type == "g2-standard-12"
    assert first.machine_spec.accelerator_type == types.AcceleratorType.NVIDIA_L4
    assert first.machine_spec.accelerator_count == 1
    assert read.job_spec.scheduling.strategy == types.Scheduling.Strategy.SPOT
    assert read.job_spec.scheduling.restart_job_on_worker_restart
    assert read.job_spec.base_output_directory.output_uri_prefix == "gs://runs/a/kangaroo-run"
    assert read.job_spec.service_account == "me@p.iam.gserviceaccount.com"
    assert read.job_spec.tensorboard.endswith("/tensorboards/2")
    carried = {one.name: one.value for one in first.container_spec.env}["HOLDFAST_RECIPE"]
    assert tomllib.loads(carried)["hardware"]["copy_to"] == "gs://runs/a/kangaroo-run"


class Service(BaseHTTPRequestHandler):
    """Vertex AI as far as a submission goes."""

    heard: list[tuple[str, Any]] = []  # noqa: RUF012
    answer: tuple[int, Any] = (200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append((self.path, body))
        code, answer = self.answer
        data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Service.heard.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.hot
def test_a_submission_reaches_the_endpoint(
    recipe: str, service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1")
    Service.answer = (200, {"name": "projects/1/locations/europe-west4/customJobs/7"})
    where = ["--project", "p", "--region", "europe-west4", "--endpoint", service]
    assert main(["launch", "vertex", recipe, *CLOUD, *where]) == 0
    assert "customJobs/7" in capsys.readouterr().out
    ((path, body),) = Service.heard
    assert path.split("?")[0] == "/v1/projects/p/locations/europe-west4/customJobs"
    assert body["jobSpec"]["workerPoolSpecs"][1]["replicaCount"] == "3"


@pytest.mark.hot
def test_what_the_service_refuses_is_said_in_words(
    recipe: str, service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1")
    metric = "aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus"
    said = f"The following quota metrics exceed quota limits: {metric}"
    Service.answer = (429, {"error": {"code": 429, "message": said, "status": "RESOURCE_EXHAUSTED"}})
    where = ["--project", "p", "--region", "europe-west4", "--endpoint", service]
    assert main(["launch", "vertex", recipe, *CLOUD, *where]) == 2
    text = capsys.readouterr().err
    assert "the quota for this does not suffice in europe-west4" in text
    assert "custom_model_training_nvidia_l4_gpus" in " ".join(text.split())


@pytest.mark.hot
def test_an_accelerator_that_vertex_does_not_know_is_named_with_the_nearest() -> None:
    pytest.importorskip("google.cloud.aiplatform_v1")
    from holdfast.launch.jobs import vertex

    assert vertex.accelerator_type("t4") == "NVIDIA_TESLA_T4"
    with pytest.raises(HoldfastError, match="knows no accelerator nvidia_a1000"):
        vertex.accelerator_type("nvidia_a1000")


@pytest.mark.parametrize("version", ["1.27", "1.37"])
def test_the_kubernetes_objects_are_what_the_official_schemas_describe(version: str) -> None:
    """Strictly: a field that a schema does not know is refused."""
    schemas = pytest.importorskip("kubernetes_validate")
    made = job_files.kubernetes(job(accelerators=2, spot=True, service_account="trainer", token="word"))
    for one in made["items"]:
        schemas.validate(one, version, strict=True)
    made["items"][-1]["spec"]["completionsMode"] = "Indexed"
    with pytest.raises(schemas.ValidationError):
        schemas.validate(made["items"][-1], version, strict=True)


def test_the_token_of_a_group_is_no_name_that_others_know() -> None:
    assert "HOLDFAST_GROUP_TOKEN=$(od -An -N16 -tx1 /dev/urandom" in job_files.slurm(job())
    secret = job_files.kubernetes(job(token="word"))["items"][0]
    assert (secret["kind"], secret["stringData"]) == ("Secret", {"token": "word"})
