from shiplift.engine.memory import Memory
from shiplift.engine.step import Step


class Write(Step, frozen=True):
    name: str
    version: int = 1

    @property
    def key(self) -> str:
        return f"write {self.name}"

    def describe(self) -> str:
        return f"write {self.name} at {self.version}"


def test_the_very_same_step_is_counted():
    memory = Memory()
    assert [memory.count(Write("a")) for _ in range(3)] == [1, 2, 3]


def test_the_same_step_with_other_contents_makes_progress_and_starts_over():
    memory = Memory()
    assert [memory.count(Write("a", version)) for version in (1, 1, 2, 2, 3)] == [1, 2, 1, 2, 1]


def test_each_step_is_counted_for_itself():
    memory = Memory()
    assert [memory.count(Write(name)) for name in "abab"] == [1, 1, 2, 2]


def test_a_step_that_is_no_longer_decided_is_forgotten():
    memory = Memory()
    memory.count(Write("a"))
    memory.count(Write("b"))
    memory.forget_steps_but([Write("b", 9)])
    assert memory.count(Write("a")) == 1
    assert memory.count(Write("b")) == 2


def test_nothing_is_remembered_at_first():
    memory = Memory()
    assert memory.barriers == ()
    assert dict(memory.outcomes.last) == {}
