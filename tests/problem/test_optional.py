"""Methods that a subclass may leave out."""

from prism.problem.optional import optional, provides


class Base:
    @optional
    def exact(self):
        raise NotImplementedError


class Knows(Base):
    def exact(self):
        return 1.0


class Inherits(Knows):
    pass


def test_what_a_class_provides():
    assert not provides(Base(), "exact")
    assert provides(Knows(), "exact")
    assert provides(Inherits(), "exact")


def test_a_subclass_may_say_again_that_it_does_not_know():
    class Forgets(Knows):
        exact = Base.exact

    assert not provides(Forgets(), "exact")
