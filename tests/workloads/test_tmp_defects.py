import time
from shiplift.facts import kinds
from tests.workloads.rig import NEW, OLD, Scene
def test_x(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.wait_ready(space, web=2)
    scene.budget(space, "first", "web", maxUnavailable=1)
    second = scene.budget(space, "second", "web", minAvailable=1)
    scene.nodes("new", NEW)
    scene.migrate()
    scene.rig.start()
    scene.wait(lambda: scene.line("web").get("reason") == "TwoBudgets")
    scene.client.delete(kinds.POD_DISRUPTION_BUDGET, "second", space, uid=second["metadata"]["uid"])
    for _ in range(12):
        print("XX", time.time(), scene.line("web"), [(b["metadata"]["name"], b.get("status")) for b in scene.client.list(kinds.POD_DISRUPTION_BUDGET, space)])
        time.sleep(0.5)
