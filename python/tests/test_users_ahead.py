# SPDX-License-Identifier: Apache-2.0
"""Keys of users that are brought ahead of their turns: which leave for them, and when that ends."""

from __future__ import annotations

from types import SimpleNamespace

from halocline.engine.user_keys import ResidentKeys, UserKeys
from user_rig import PARAMS


class StubKeys:
    """A set of keys whose answers are given."""

    def __init__(self, *found):
        self.found, self.nbytes, self.is_spare = list(found), 1, False

    def bring(self, elements):
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]

    def set_spare(self):
        self.is_spare = True


def test_keys_brought_for_a_user_who_did_not_come_leave_for_others():
    done, later, near = range(3)
    sets = ResidentKeys(SimpleNamespace(), PARAMS, direct=True)
    made = {}
    for name, found in (("a", [later, done]), ("b", [near, near, done]), ("c", [near]), ("d", [later])):
        made[name] = UserKeys(name, None, StubKeys(*found), {}, 0.0)
        sets._sets[name] = made[name]
    sets.bring_near(made["a"], [1], lambda: False)
    assert made["a"].is_ahead and not made["a"].core.is_spare
    sets.bring_near(made["b"], [1], lambda: False)  # takes the room of a, and sees that nothing else is left
    assert made["a"].core.is_spare and not made["a"].is_ahead
    made["b"].in_use = True
    sets.bring_near(made["c"], [1], lambda: False)  # not that of a user who is served
    assert not made["b"].core.is_spare and made["c"].bringing == 0

    def served():  # the whole turn, between two looks
        made["d"].turns += 1
        return False

    sets.bring_near(made["d"], [1], served)
