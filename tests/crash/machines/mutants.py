"""Bugs of bootstrap, and the plans that are likeliest to catch each."""

from __future__ import annotations

from tests.crash.mutants import Mutant
from tests.crash.plans import Clean, Crash, CrashPoint, Cut, How, Pause, Restart, Spot, Trouble, Unsent

_CLEAN = Clean()


def _done(step: str, about: str) -> Crash:
    """Killed when the machine has done it, and nobody has heard."""
    return Crash(Spot(step, about), CrashPoint.BEFORE_REPLY)


def _mutant(name: str, breaks: str, file: str, old: str, new: str, *plans: tuple[str, Trouble]) -> Mutant:
    return Mutant(name, breaks, f"machines/{file}", old, new, plans)


ALL: tuple[Mutant, ...] = (
    _mutant(
        "a mark that is there is written over (M4)",
        "two runs at the same time agree on one cluster",
        "ssh/runner.py",
        '        os.link(whole, folder / "mark.json")\n    whole.unlink()\n',
        '        os.replace(whole, folder / "mark.json")\n',
        ("init", Pause(Spot("claim", "cp-1"))),
    ),
    _mutant(
        "what has begun is begun again (M4)",
        "a command begins once, whoever asks again",
        "ssh/runner.py",
        '    if (entry / "begun").exists():\n        os.close(lock)\n        return look(entry)\n',
        "",
        ("init", Pause(Spot("begin init", "cp-1"))),
        ("init", Pause(Spot("begin agent", "cp-1"))),
    ),
    _mutant(
        "a record that is there is made anew (M4)",
        "a record that was written once stays, with what belongs to it",
        "ssh/runner.py",
        "        if not entry.exists():\n            kept",
        "        shutil.rmtree(entry, ignore_errors=True)\n        if not entry.exists():\n            kept",
        ("init", Pause(Spot("record init", "cp-1"))),
        ("init", Pause(Spot("record agent", "cp-1"))),
    ),
    _mutant(
        "an init that was cut off is reset by itself (M4)",
        "never a second init: a person looks first",
        "decide/joining.py",
        "    if case.facts.kubeadm and (last is None or last.state is CommandState.RECORDED or over):",
        "    if case.facts.kubeadm and last is None:",
        ("init", Restart(Spot("begin init", "cp-1"))),
    ),
    _mutant(
        "nobody is waited for before the init (M4)",
        "the cluster begins when all machines are initialised",
        "decide/joining.py",
        "    if around.waits_for and case.facts.last(Purpose.INIT.value) is None:",
        "    if not around and case.facts.last(Purpose.INIT.value) is None:",
        ("init", Restart(Spot("begin software", "w-1"))),
        ("init", Unsent(Spot("begin restart", "w-1"))),
        ("init", _CLEAN),
    ),
    _mutant(
        "control planes join side by side (M4)",
        "one control plane joins at a time",
        "decide/joining.py",
        "    if around.turn and around.turn != case.name:",
        "    if around.turn and not case.machine.control_plane and around.turn != case.name:",
        ("join", _CLEAN),
    ),
    _mutant(
        "a control plane whose join was cut off is reset (M4)",
        "it may have left a member of etcd: a person looks first",
        "decide/joining.py",
        "    if case.facts.kubeadm and case.machine.control_plane:",
        "    if case.facts.kubeadm and last is None and case.machine.control_plane:",
        ("join", Restart(Spot("begin join", "cp-2"))),
    ),
    _mutant(
        "the token stays on the machine (M4)",
        "a token is short-lived, and kept in no file",
        "scripts.py",
        'return Script((_valid("join.yaml"), *reset, words), {"join.yaml": text.encode()}, ("join.yaml",))',
        'return Script((_valid("join.yaml"), *reset, words), {"join.yaml": text.encode()})',
        ("init", _CLEAN),
    ),
    _mutant(
        "a token that lasts a day (M4)",
        "a token is short-lived",
        "scripts.py",
        '_TTL = "15m"',
        '_TTL = "1440m"',
        ("init", _CLEAN),
    ),
    _mutant(
        "a restart that was asked for counts as done (M4)",
        "a machine has restarted when its boot id is another",
        "decide/stages.py",
        "    if last.boot != case.facts.boot_id:\n        return None\n",
        "    if last.boot:\n        return None\n",
        ("init", _done("record restart", "w-1")),
        ("init", Unsent(Spot("begin restart", "w-1"))),
    ),
    _mutant(
        "what was lost is not begun again",
        "a command that a power cut ended is tried again at once",
        "decide/recorded.py",
        "    return command.state is CommandState.LOST\n",
        "    return False\n",
        ("init", Restart(Spot("begin software", "w-1"))),
    ),
    _mutant(
        "every machine says that the cluster begins on it (M4)",
        "where the cluster begins is the same on all machines",
        "decide/stages.py",
        "        first=case.founding.first,\n",
        "        first=case.name,\n",
        ("init", _CLEAN),
    ),
    _mutant(
        "a command begins before that is written down (M4)",
        "what has begun is known to have begun, whatever happens then",
        "ssh/runner.py",
        '    write(entry, ".begun", b"").rename(entry / "begun")\n    sync(entry)\n    detach',
        "    detach",
        ("init", _CLEAN),
    ),
    _mutant(
        "what ended well for another run is begun again",
        "what is done is not done again",
        "decide/recorded.py",
        "    if last.well:\n        return None\n    if lost",
        "    if last.well and last.run != case.view.run:\n        return attempt(case, errand)\n"
        "    if last.well:\n        return None\n    if lost",
        ("init", _done("begin network", "cp-1")),
    ),
    _mutant(
        "a secret answer is kept (M4)",
        "what a control plane was asked for is in no file",
        "ssh/runner.py",
        '    ended = {"code": 1 if wrong else 0, "timed_out": False, "tail": ""}',
        '    ended = {"code": 1 if wrong else 0, "timed_out": False, "tail": "".join(said)}',
        ("init", _CLEAN),
    ),
    _mutant(
        "a worker whose join was cut off is not reset",
        "a worker is reset, and joins again",
        "scripts.py",
        '    reset = (("kubeadm", "reset", "--force"),) if again else ()',
        "    reset: tuple[Words, ...] = ()",
        ("init", Restart(Spot("begin join", "w-1"))),
    ),
    _mutant(
        "a silent control plane has begun nothing (M4)",
        "a new cluster begins only when all who may have begun one have answered",
        "decide/founding.py",
        '        if silent is not None:\n            text = f"whether',
        '        if silent is not None and silent.seen is not None:\n            text = f"whether',
        ("join", Cut(Spot("facts", "cp-1"), How.REFUSED)),
    ),
    _mutant(
        "a token outlives a power cut (M4)",
        "what is to be forgotten is on no disk",
        "ssh/runner.py",
        "            path.symlink_to(in_memory(entry, base64.b64decode(content)))",
        '            write(entry, ".file", base64.b64decode(content)).rename(path)',
        ("init", Restart(Spot("begin join", "w-1"))),
    ),
)
