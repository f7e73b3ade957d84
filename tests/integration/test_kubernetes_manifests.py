"""The manifests of examples/kubernetes: their parts belong together, and dlaunch accepts their command lines."""

import json

import pytest

from conftest import ROOT

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
FOLDER = ROOT / "examples/kubernetes"
NEEDED = {"Service": ["spec.selector"], "Job": ["spec.template.spec"], "PodDisruptionBudget": ["spec.minAvailable", "spec.selector.matchLabels"]}


def manifests():
    return [document for path in sorted(FOLDER.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]


def of_kind(kind):
    return [document for document in manifests() if document["kind"] == kind]


def at(document, path):
    for name in path.split("."):
        document = document[name]
    return document


def pod(job):
    return at(job, "spec.template.spec")


def labels(job):
    own = {"job-name": job["metadata"]["name"]}  # set by Kubernetes
    return {**own, **job["spec"]["template"].get("metadata", {}).get("labels", {})}


def test_every_part_is_complete():
    for document in manifests():
        assert document["apiVersion"] in ("v1", "batch/v1", "policy/v1") and document["metadata"]["name"]
        for path in NEEDED[document["kind"]]:
            assert at(document, path), f"{document['kind']} without {path}"
    for job in of_kind("Job"):
        assert pod(job)["restartPolicy"] in ("Never", "OnFailure"), "Kubernetes allows no other policy in a Job"
        assert all(container["name"] and container["image"] for container in pod(job)["containers"])


def test_selectors_find_pods():
    for document in of_kind("Service"):
        assert any(at(document, "spec.selector").items() <= labels(job).items() for job in of_kind("Job"))
    for document in of_kind("PodDisruptionBudget"):
        assert any(at(document, "spec.selector.matchLabels").items() <= labels(job).items() for job in of_kind("Job"))


def test_mounted_volumes_exist():
    for job in of_kind("Job"):
        volumes = {volume["name"] for volume in pod(job)["volumes"]}
        mounted = {mount["name"] for container in pod(job)["containers"] for mount in container["volumeMounts"]}
        assert mounted == volumes


def plan_of(dlaunch, job, **environment):
    """The plan of the pod's command line, without GPUs, as JSON."""
    container = pod(job)["containers"][0]
    words = [*container["command"][1:], *container["args"]]
    words = [word.replace("=gpu", "=1") for word in words]
    return json.loads(dlaunch("--dry-run", *words, env=environment).out)


def endpoint_name(plan):
    return plan["rendezvous"]["endpoint"].partition(":")[0].split(".")[-1]


def test_each_pod_of_an_indexed_job_is_a_node(dlaunch):
    job = next(job for job in of_kind("Job") if job["spec"].get("completionMode") == "Indexed")
    plan = plan_of(dlaunch, job, JOB_COMPLETION_INDEX=2)
    assert plan["rendezvous"]["node_rank"] == 2 and plan["nodes"]["max"] == job["spec"]["completions"] == job["spec"]["parallelism"]
    name = job["metadata"]["name"]
    assert plan["rendezvous"]["endpoint"].startswith(f"{name}-0.{pod(job)['subdomain']}:") and endpoint_name(plan) == pod(job)["subdomain"]
    assert endpoint_name(plan) in [service["metadata"]["name"] for service in of_kind("Service")]
    assert plan["stopping"]["grace_seconds"] < pod(job)["terminationGracePeriodSeconds"]


def test_an_elastic_job_meets_at_its_coordinators_service(dlaunch):
    job = next(job for job in of_kind("Job") if job["metadata"]["name"] == "elastic-worker")
    plan = plan_of(dlaunch, job)
    assert plan["nodes"] == {"min": 2, "max": 8} and plan["rendezvous"]["is_host"] is False
    assert endpoint_name(plan) in [service["metadata"]["name"] for service in of_kind("Service")]
    coordinator = next(job for job in of_kind("Job") if job["metadata"]["name"] == "elastic-coordinator")
    words = [*pod(coordinator)["containers"][0]["command"], *pod(coordinator)["containers"][0]["args"]]
    shared = [word for word in words if word.startswith(("--nnodes", "--rdzv-endpoint", "--rdzv-id", "--rdzv-backend"))]
    assert len(shared) == 4 and set(shared) <= {*pod(job)["containers"][0]["command"], *pod(job)["containers"][0]["args"]}
