"""The fixtures that every other test stands on."""

from shiplift.local.api import Api


def test_a_pod_in_a_fresh_namespace_runs(cluster, namespace):
    api = Api(cluster)
    api.create(f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}})
    from shiplift.local.nodes import wait_until
    wait_until(lambda: api.get(f"/api/v1/namespaces/{namespace}/pods/a")["status"]["phase"] == "Running", "pod", 10)
    print(api.get(f"/api/v1/namespaces/{namespace}/pods/a")["status"])


def test_private(private_cluster):
    c = private_cluster()
    Api(c).create("/api/v1/namespaces", {"metadata": {"name": "x"}})


def test_private_again(private_cluster):
    c = private_cluster()
    assert "x" not in [n["metadata"]["name"] for n in Api(c).get("/api/v1/namespaces")["items"]]
