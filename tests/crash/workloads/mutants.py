"""Bugs of the layer `workloads`, and the plans that are likeliest to catch each."""

from __future__ import annotations

from tests.crash.mutants import Mutant
from tests.crash.plans import Clean, Crash, CrashPoint, Disturbance, Failure, Fault, Spot, Watching

_CLEAN = Clean()


def _undoing(kind: str, failure: Failure) -> Fault:
    return Fault(Spot(f"patch {kind} [-spec.template]"), failure)


_ORDER_STATUS = Spot("patch workloadorders/status")
_SPEC_OF_API = Spot("patch poddisruptionbudgets [spec.maxUnavailable]", "shop/api")

ALL: tuple[Mutant, ...] = (
    Mutant(
        "no order",
        "everybody is released at once",
        "workloads/observe/order.py",
        "ready, there = frozenset(tallies.keys() & progress.ready), frozenset(done)",
        "ready, there = frozenset(tallies), frozenset(done)",
        (("chain", _CLEAN),),
    ),
    Mutant(
        "forgotten uid",
        "an eviction does not say which pod it means",
        "kube/client.py",
        '"deleteOptions": _preconditions(uid, None, grace, dry_run),',
        '"deleteOptions": {},',
        (("chain", _CLEAN),),
    ),
    Mutant(
        "no epoch",
        "writes are not told from those of an earlier leader",
        "operator/process.py",
        "field_manager=manager(epoch),",
        'field_manager="shiplift",',
        (("chain", _CLEAN),),
    ),
    Mutant(
        "budget restored from the wrong place",
        "a user's PodDisruptionBudget gets what we had put there",
        "engine/ledger.py",
        "return pointer.put(document, entry.path, entry.before, entry.position), []",
        "return pointer.put(document, entry.path, entry.after, entry.position), []",
        (("budgets", _CLEAN),),
    ),
    Mutant(
        "second budget",
        "a workload with a budget gets another one from us",
        "workloads/decide/holds.py",
        "    if not rows:\n        found = _make(tally, picking)",
        "    if rows or not rows:\n        found = _make(tally, picking)",
        (("budgets", _CLEAN),),
    ),
    Mutant(
        "budgets by template",
        "a budget is not seen that asks for a label which pods get at run time",
        "pdb/index.py",
        "budgets = own if _agree(keys, template, last) else self.selecting(namespace, last)",
        "budgets = own",
        (("labels", _CLEAN),),
    ),
    Mutant(
        "second budget beside that of a sibling",
        "a workload gets a budget of ours although some of its pods have one",
        "workloads/decide/holds.py",
        "rows = [view.budgets[uid] for uid in covering(tally) if uid in view.budgets]",
        "rows = [view.budgets[uid] for uid in tally.budgets if uid in view.budgets]",
        (("labels", _CLEAN),),
    ),
    Mutant(
        "hold is not let go",
        "a released workload stays held by its own budget",
        "workloads/decide/holds.py",
        "right = len(ids) == 1 and ids[0] in held",
        "right = len(ids) == 1",
        (("budgets", _CLEAN),),
    ),
    Mutant(
        "hold left behind",
        "after an abort budgets of ours stay",
        "workloads/decide/cleaning.py",
        "    steps += [holds.undo(budget) for budget in view.holds]\n",
        "",
        (("abort", _CLEAN),),
    ),
    Mutant(
        "own hold is not let go",
        "a released workload stays held by the budget that we made for it",
        "workloads/decide/holds.py",
        "len(owner) == 1 and owner[0] in held and",
        "len(owner) == 1 and",
        (("budgets", _CLEAN),),
    ),
    Mutant(
        "two at once",
        "a StatefulSet loses a second pod while the first is away",
        "pdb/allowances.py",
        "return 0 if missing else 1",
        "return 2",
        (("chain", _CLEAN), ("diamond", _CLEAN)),
    ),
    Mutant(
        "budget spent twice",
        "pods of a Deployment that are away already do not count",
        "pdb/allowances.py",
        "return max(most - max(owner.row.replicas - owner.ready, 0), 0)",
        "return most",
        (("diamond", _CLEAN), ("diamond", Watching("pods", Disturbance.DELAYED))),
    ),
    Mutant(
        "ratchet lost",
        "who has arrived is forgotten at the next look",
        "workloads/decide/decision.py",
        "known = view.status.met",
        "known: tuple[str, ...] = ()",
        (("chain", _CLEAN),),
    ),
    Mutant(
        "ends too early",
        "the end comes while nodes of the old version are there",
        "workloads/decide/decision.py",
        "if view.fleet.off or not view.fleet.targets or",
        "if not view.fleet.targets or",
        (("ring", _CLEAN),),
    ),
    Mutant(
        "labels stay",
        "a node is taken for marked rightly when it has a label too many",
        "workloads/target.py",
        "if have == labels and not retaint:",
        "if labels.items() <= have.items() and not retaint:",
        (("chain", _CLEAN),),
    ),
    Mutant(
        "taints stay",
        "our taints are added and never taken away",
        "kube/changing.py",
        'taints = [one for one in old if one["key"] not in ours] + wanted',
        "taints = [one for one in old if one not in wanted] + wanted",
        (("template-chain", _CLEAN),),
    ),
    Mutant(
        "placement left behind",
        "new pods are sent somewhere for ever",
        "workloads/decide/cleaning.py",
        "return (steps or [placements.taken_away(placement)]), {}",
        "return steps, {}",
        (("chain", _CLEAN),),
    ),
    Mutant(
        "held pods go anywhere",
        "a pod that dies before its turn comes back on a target node",
        "workloads/decide/placements.py",
        "turn = Turn.RELEASED if id_ in may_move else Turn.HELD",
        "turn = Turn.RELEASED",
        (("diamond", _CLEAN),),
    ),
    Mutant(
        "record forgotten",
        "a toleration that stays on purpose is not written down",
        "workloads/decide/cleaning.py",
        "if not any(has_toleration(tally.row.template, target) for target in record.given):",
        "if record.given or not record.given:",
        (("template-chain", _CLEAN),),
    ),
    Mutant(
        "record gone before its change",
        "what is to be undone is forgotten in the same moment",
        "workloads/decide/cleaning.py",
        'return [SetTolerations(tally.id, tally.row.uid, "", keeps=record.own)], record',
        'return [SetTolerations(tally.id, tally.row.uid, "", keeps=record.own)], Record()',
        (
            ("template-budgets", _undoing("statefulsets", Failure.CONFLICT)),
            ("template-budgets", _undoing("deployments", Failure.CONFLICT)),
            ("template-budgets", _CLEAN),
        ),
    ),
    Mutant(
        "abort ignored",
        "it goes on after the user has said stop",
        "workloads/target.py",
        "if migration.spec.abort:",
        "if migration.spec.abort and migration.spec.paused:",
        (("abort", _CLEAN),),
    ),
    Mutant(
        "refusals of the fence are not heard",
        "a leader whose epoch somebody took away goes on, and everything that it sends is refused",
        "operator/process.py",
        "if refused(error, self._settings.names):",
        "if refused(error, self._settings.names) and epoch < 0:",
        (("stripped-fence", _CLEAN),),
    ),
    Mutant(
        "strays are not seen",
        "pods that come back without our rule are evicted again and again",
        "workloads/observe/strays.py",
        "return not is_kept_off(pod, label, steered.target)",
        "return False",
        (("binding-gone", _CLEAN), ("binding-gone", Watching("nodes", Disturbance.DELAYED))),
    ),
    Mutant(
        "no way back",
        "another target is not heard once a migration has begun",
        "workloads/target.py",
        "wanted = versions.goal(migration.spec.target)",
        "wanted = latched or versions.goal(migration.spec.target)",
        (("rollback", _CLEAN),),
    ),
    Mutant(
        "status written once",
        "a status that could not be written is not written again",
        "workloads/tell/orders.py",
        "self._now() + delay.total_seconds()",
        "self._now() + 3600.0",
        (("chain", Fault(_ORDER_STATUS, Failure.ERROR)), ("ring", Fault(_ORDER_STATUS, Failure.ERROR))),
    ),
    Mutant(
        "record written after the change",
        "a budget is changed first and what it said is written down later: a crash in between loses it",
        "workloads/act/budgets.py",
        "return change(client, step, _subject(step, step.workload.namespace), _held)",
        """subject, wanted = _subject(step, step.workload.namespace), []

            def first(live):
                wanted.extend(_held(live).patch)
                return Edit([one for one in wanted if "metadata" not in one["path"]])

            change(client, step, subject, first)
            rest = [one for one in wanted if "metadata" in one["path"]]
            return change(client, step, subject, lambda _: Edit(rest))""",
        tuple(("budgets", Crash(_SPEC_OF_API, point)) for point in CrashPoint),
    ),
    Mutant(
        "event missed",
        "a watch that broke off goes on with what is there, and never hears of what went meanwhile",
        "kube/watch.py",
        'return self._watch({"resourceVersion": str(self._table.revision)})',
        "return self._watch({})",
        tuple(("chain", Watching("pods", Disturbance.CUT, number)) for number in (2, 3, 4)),
    ),
    Mutant(
        "cleaning in one go",
        "marks are only taken off nodes as long as a placement is there",
        "workloads/decide/cleaning.py",
        "steps: list[Step] = [*view.fleet.taints.values()]",
        "steps: list[Step] = [*view.fleet.taints.values()] if view.placements else []",
        (
            ("chain", Fault(Spot("patch nodes [-labels]"), Failure.CONFLICT)),
            ("chain", Crash(Spot("delete workloadplacements", "shop/shiplift"), CrashPoint.BEFORE_REPLY)),
        ),
    ),
    Mutant(
        "evictions are never forgotten",
        "a budget that takes a pod which is back for evicted lets nobody go for two minutes",
        "workloads/decide/moves.py",
        "elif step not in self.steps:  # one budget may cover several that wait",
        "elif step in self.steps:",
        (("mistaken-pod", _CLEAN),),
    ),
    Mutant(
        "somebody else's drain is not seen",
        "workloads whose turn has not come are not held against somebody who cordons a node and drains it",
        "workloads/decide/holds.py",
        "        or view.fleet.drained_by_others\n",
        "",
        (("foreign-drain", _CLEAN),),
    ),
    Mutant(
        "node that is emptied is open",
        "pods that leave a node so that it can be changed come back to it",
        "workloads/target.py",
        "keys = OUR_LABELS if emptying else (TARGET_LABEL,) if own",
        "keys = (TARGET_LABEL,) if own",
        (("consolidate", _CLEAN),),
    ),
    Mutant(
        "surge takes any pod",
        "the replica is taken back before an old pod was put first to go",
        "workloads/decide/surging.py",
        "if not marked and tally.away:",
        "if not marked and not tally.away:",
        (("surge", _CLEAN),),
    ),
    Mutant(
        "raised replicas are taken for somebody else's",
        "a surge begins again from the number that it has raised itself",
        "workloads/decide/surging.py",
        "    if tally.row.replicas not in (plan.before, plan.after):\n        return _overtaken",
        "    if tally.row.replicas != plan.before:\n        return _overtaken",
        (("surge", _CLEAN),),
    ),
    Mutant(
        "force does not wait for the others",
        "a second pod is moved past its budget while the first is away",
        "workloads/decide/pod_gates.py",
        "if whole and all(one.ready for one in tally.pods if one.uid != pod.uid):",
        "if tally.pods:",
        (("force", _CLEAN), ("force", Watching("pods", Disturbance.DELAYED))),
    ),
)
