"""Bugs of the layer `machines`, and the plans that are likeliest to catch each."""

from __future__ import annotations

from tests.crash.mutants import Mutant
from tests.crash.plans import Clean

_CLEAN = Clean()

ALL: tuple[Mutant, ...] = (
    Mutant(
        "too many are made again",
        "what somebody takes away of too many machines comes back",
        "machines/in_cluster/decide/course.py",
        "    return [one for one in case.wanted if one.node is None and not one.row.deleting]\n",
        "    return [one for one in case.kept if one.node is None and not one.row.deleting]\n",
        (("fewer", _CLEAN),),
    ),
    Mutant(
        "a number is used once",
        "a machine that is lost comes back under another name",
        "machines/in_cluster/decide/case.py",
        "for one in count()) if name not in there)\n",
        "for one in count(len(there) + len(view.nodes))) if name)\n",
        (("lost", _CLEAN),),
    ),
    Mutant(
        "machines of nobody",
        "who deletes a pool leaves its machines",
        "machines/in_cluster/act.py",
        '            "ownerReferences": [owner],\n',
        '            "ownerReferences": [owner][1:],\n',
        (("grow", _CLEAN),),
    ),
    Mutant(
        "lost for good",
        "a node that somebody deletes is not made again",
        "machines/in_cluster/decide/course.py",
        "    return [one for one in case.wanted if one.node is None and not one.row.deleting]\n",
        "    return [one for one in case.wanted if not one.node and not one.machine.status.phase]\n",
        (("lost", _CLEAN),),
    ),
    Mutant(
        "said too early",
        "a pool is complete before its nodes are Ready",
        "machines/in_cluster/decide/course.py",
        "    return _waiting(case) or _too_many(case) or _complete(case)\n",
        "    return _too_many(case) or _complete(case)\n",
        (("lost", _CLEAN), ("grow", _CLEAN)),
    ),
)
