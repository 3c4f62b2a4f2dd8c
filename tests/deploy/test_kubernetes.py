"""deploy/k8s: built by kustomize, valid for two versions of Kubernetes, and true to each other.

Custom resources have no schema in a package: their fields are compared with those that their definitions have, written
down here (KEDA's `scaledobjects.keda.sh` after v2.20.2, prometheus-operator's `servicemonitors.monitoring.coreos.com` at
0.93.0, and the pages of KEDA's scalers for 2.22, read 2026-11-29).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from otel_ctxscore.config import parse
from otel_ctxscore.telemetry.page import page as metrics_page
from tests.deploy.files import DEPLOY, documents, with_secrets
from tests.deploy.programs import loaded
from tests.services.fixtures import need

FOLDER = DEPLOY / "k8s"
CUSTOM = ("ScaledObject", "ServiceMonitor")
VERSIONS = ("1.31", "1.37")
Fields = Mapping[str, Any]
SCALED_OBJECT: Fields = {
    "scaleTargetRef": {"apiVersion": str, "kind": str, "name": str, "envSourceContainerName": str},
    "minReplicaCount": int,
    "maxReplicaCount": int,
    "idleReplicaCount": int,
    "pollingInterval": int,
    "cooldownPeriod": int,
    "initialCooldownPeriod": int,
    "fallback": {"failureThreshold": int, "replicas": int, "behavior": str},
    "advanced": {
        "restoreToOriginalReplicaCount": bool,
        "horizontalPodAutoscalerConfig": {
            "name": str,
            "behavior": {
                direction: {
                    "stabilizationWindowSeconds": int,
                    "selectPolicy": str,
                    "policies": [{"type": str, "value": int, "periodSeconds": int}],
                }
                for direction in ("scaleUp", "scaleDown")
            },
        },
    },
    "triggers": [{"type": str, "name": str, "metricType": str, "useCachedMetrics": bool, "metadata": dict}],
}
SCALERS: Mapping[str, tuple[set[str], set[str]]] = {
    "kafka": (
        {"bootstrapServers", "consumerGroup"},
        {"topic", "lagThreshold", "activationLagThreshold", "offsetResetPolicy", "allowIdleConsumers"},
    ),
    "prometheus": ({"serverAddress", "query", "threshold"}, {"activationThreshold", "ignoreNullValues", "timeout"}),
}
"""Required and some optional keys of a trigger's metadata; their values are text."""
SERVICE_MONITOR: Fields = {
    "selector": {"matchLabels": dict},
    "namespaceSelector": {"any": bool, "matchNames": [str]},
    "scrapeProtocols": [str],
    "endpoints": [{"port": str, "path": str, "interval": str, "scrapeTimeout": str, "scheme": str}],
}


def faults(found: Any, known: Any, path: str = "spec") -> Iterator[str]:
    """Where `found` has a field that `known` has not, or another type."""
    if isinstance(known, Mapping):
        assert isinstance(found, dict), path
        for key, value in found.items():
            if key in known:
                yield from faults(value, known[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is unknown"
    elif isinstance(known, list):
        for place, value in enumerate(found):
            yield from faults(value, known[0], f"{path}[{place}]")
    elif type(found) is not known:
        yield f"{path} is no {known.__name__}"


@cache
def built() -> list[dict[str, Any]]:
    return documents(loaded("kustomize", FOLDER))


@pytest.fixture(scope="module")
def manifests(services_folder: Path) -> list[dict[str, Any]]:
    """What kustomize makes of the folder."""
    need("deploy-tools")
    return built()


def the(manifests: list[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    [one] = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"].startswith(name)]
    return one


def container(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    [one] = the(manifests, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    return dict(one)


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_manifests_are_valid(manifests: list[dict[str, Any]], version: str) -> None:
    for one in manifests:
        if one["kind"] not in CUSTOM:
            assert kubernetes_validate.validate(one, version, strict=True) == version


def test_a_field_that_kubernetes_does_not_know_is_refused(manifests: list[dict[str, Any]]) -> None:
    wrong = {**the(manifests, "PodDisruptionBudget"), "spec": {"maxUnavailabel": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.parametrize(("kind", "fields"), [("ScaledObject", SCALED_OBJECT), ("ServiceMonitor", SERVICE_MONITOR)])
def test_custom_resources_have_no_field_that_their_definition_has_not(
    manifests: list[dict[str, Any]], kind: str, fields: Fields
) -> None:
    assert list(faults(the(manifests, kind)["spec"], fields)) == []


def test_triggers_have_what_their_scaler_asks(manifests: list[dict[str, Any]]) -> None:
    triggers = the(manifests, "ScaledObject")["spec"]["triggers"]
    assert [trigger["type"] for trigger in triggers] == ["kafka", "prometheus"]
    for trigger in triggers:
        required, optional = SCALERS[trigger["type"]]
        assert required <= set(trigger["metadata"]) <= required | optional
        assert {type(value) for value in trigger["metadata"].values()} == {str}
        assert trigger.get("metricType", "AverageValue") in {"AverageValue", "Value"}


def test_every_file_of_the_folder_is_used() -> None:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
    used = {
        "kustomization.yaml",
        "secret.example.yaml",
        *kustomization["resources"],
        *kustomization["configMapGenerator"][0]["files"],
    }
    assert {path.name for path in FOLDER.iterdir()} == used


def test_every_selector_meets_only_our_pods(manifests: list[dict[str, Any]]) -> None:
    labels = the(manifests, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    assert labels
    services = [one["spec"]["selector"] for one in manifests if one["kind"] == "Service"]
    others = [
        the(manifests, "StatefulSet")["spec"]["selector"]["matchLabels"],
        the(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        the(manifests, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    assert all(selector and selector.items() <= labels.items() for selector in [*services, *others])


def test_the_network_policy_lets_dns_through(manifests: list[dict[str, Any]]) -> None:
    dns = the(manifests, "NetworkPolicy")["spec"]["egress"][0]["to"][0]
    assert dns["podSelector"]["matchLabels"] == {"k8s-app": "kube-dns"}


def test_the_monitor_finds_the_admin_service(manifests: list[dict[str, Any]]) -> None:
    monitor, service = the(manifests, "ServiceMonitor"), the(manifests, "Service", "ctxscore-admin")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert {end["port"] for end in monitor["spec"]["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}


def test_names_of_ports_are_those_of_the_container(manifests: list[dict[str, Any]]) -> None:
    ports = {port["name"] for port in container(manifests)["ports"]}
    services = [port["targetPort"] for one in manifests if one["kind"] == "Service" for port in one["spec"]["ports"]]
    probes = [container(manifests)[f"{kind}Probe"]["httpGet"]["port"] for kind in ("startup", "liveness", "readiness")]
    policy = [port["port"] for rule in the(manifests, "NetworkPolicy")["spec"]["ingress"] for port in rule["ports"]]
    assert {*services, *probes, *policy} == ports


def test_what_is_mounted_is_a_volume(manifests: list[dict[str, Any]]) -> None:
    spec = the(manifests, "StatefulSet")["spec"]
    volumes = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    assert {mount["name"] for mount in container(manifests)["volumeMounts"]} == volumes


def test_the_pod_is_confined(manifests: list[dict[str, Any]]) -> None:
    pod = the(manifests, "StatefulSet")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container(manifests)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_configuration_agrees_with_the_manifests(manifests: list[dict[str, Any]], tmp_path: Path) -> None:
    [text] = the(manifests, "ConfigMap")["data"].values()
    config = parse(yaml.safe_load(with_secrets(text, tmp_path)))
    pod = the(manifests, "StatefulSet")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > config.shutdown.grace
    assert config.admin.listen == f"0.0.0.0:{container(manifests)['ports'][0]['containerPort']}"
    lag = the(manifests, "ScaledObject")["spec"]["triggers"][0]["metadata"]
    kafka = config.sources.kafka
    assert kafka is not None
    assert (lag["bootstrapServers"], lag["consumerGroup"]) == (kafka.brokers[0], kafka.group_id)
    assert [lag["topic"]] == kafka.topics
    assert str(config.state.path) in {mount["mountPath"] for mount in container(manifests)["volumeMounts"]}


def test_the_example_of_a_secret_is_what_the_pods_wait_for(manifests: list[dict[str, Any]]) -> None:
    [secret] = documents((FOLDER / "secret.example.yaml").read_text(encoding="utf-8"))
    assert kubernetes_validate.validate(secret, VERSIONS[-1], strict=True)
    assert "Secret" not in {one["kind"] for one in manifests}  # nobody runs with a token that everybody knows
    volumes = the(manifests, "StatefulSet")["spec"]["template"]["spec"]["volumes"]
    assert secret["metadata"]["name"] in {volume.get("secret", {}).get("secretName") for volume in volumes}
    text = (FOLDER / "config.yaml").read_text(encoding="utf-8")
    assert all(f"/etc/otel-ctxscore/secrets/{name}" in text for name in secret["stringData"])


def test_autoscaling_asks_for_a_metric_that_there_is(manifests: list[dict[str, Any]]) -> None:
    query = the(manifests, "ScaledObject")["spec"]["triggers"][1]["metadata"]["query"]
    assert f"## `{query.removeprefix('max(').removesuffix(')')}`" in metrics_page()
