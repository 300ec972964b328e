def test_x(cluster, namespace):
    c = cluster.credentials()
    print(c, namespace, cluster.kubeconfig)
    from shiplift.kube.client import Client
    from shiplift.facts.kinds import NODE
    with Client(c) as k:
        print(len(list(k.list(NODE))), k.raw("GET","/readyz"))
