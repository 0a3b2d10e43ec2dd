# SPDX-License-Identifier: Apache-2.0
"""Where bootstraps are placed: against all choices on small graphs, and an integer program on large ones."""

import itertools
import random

import halocline as hc
import numpy as np
import pytest
from halocline.engine.bootstrap_placement import place
from halocline.engine.placement_problem import Problem, Refresh
from halocline.engine.program_graph import INPUT, Node, ProgramGraph, chain


def random_graph(count, width, seed, most, *, mixed=False):
    """A program whose operations take values among the last `width`. mixed: two kinds of ciphertexts,
    some of which cannot be bootstrapped, levels that are asked for, and bootstraps by hand."""
    draw = random.Random(seed)

    def facts(limited=True):
        if not mixed:
            return {}
        limit = draw.randint(0, most) if limited and draw.random() < 0.1 else None
        return {"slots": draw.choice((8, 16)), "refreshable": draw.random() < 0.9, "most": limit}

    nodes = [Node(INPUT, fixed_level=draw.randint(1, most), slots=8) for _ in range(2)]
    for _ in range(count):
        a, b = (draw.randrange(max(0, len(nodes) - width), len(nodes)) for _ in range(2))
        kind = draw.random()
        if kind < 0.5:
            nodes.append(Node("multiply", (a, b), 1, **facts()))
        elif kind < 0.7:
            nodes.append(Node("add", (a, b), **facts()))
        elif kind < 0.85:
            nodes.append(Node("rotate", (a,), **facts()))
        elif kind < 0.9 and mixed:
            nodes.append(Node("bootstrap", (a,), fixed_level=most, needs=draw.randint(0, 1), **facts(False)))
        else:
            nodes.append(Node("polynomial", (a,), draw.randint(1, min(3, most)), **facts()))
    return ProgramGraph(tuple(nodes))


def cheapest(graph, refresh_of, level_cost=None):
    """The least cost among all choices; None where none suffices."""
    problem = Problem.of(graph, refresh_of, level_cost)
    able = [number for number, each in enumerate(problem.refreshes) if each is not None]
    subsets = itertools.chain.from_iterable(itertools.combinations(able, k) for k in range(len(able) + 1))
    found = (problem.evaluate(set(each)) for each in subsets)
    return min((each.cost for each in found if each is not None), default=None)


@pytest.mark.parametrize("mixed", [False, True])
def test_small_programs_get_the_cheapest_of_all_choices(mixed):
    refused = 0
    for seed in range(150):
        most = 2 + seed % 3
        graph = random_graph(9, 4, seed, most, mixed=mixed)
        usual, other = Refresh(seed % 2, most), Refresh(0, max(1, most - 1), 1.7)

        def refresh_of(node, usual=usual, other=other):
            return other if node.slots == 16 else usual

        best = cheapest(graph, refresh_of)
        if best is None:
            refused += 1
            with pytest.raises(hc.LevelExhausted, match="levels missing"):
                place(graph, refresh_of)
            continue
        placement = place(graph, refresh_of)
        assert placement.exact, seed
        assert placement.cost == pytest.approx(best), seed
        assert min(placement.levels) >= 0
    assert 0 < refused < 120


def test_costs_of_operations_are_within_a_tenth_of_the_least():
    """Bootstraps of 40 key switches of the highest level; one is moved at a time, so it is not exact."""
    ratios = []
    for seed in range(60):
        graph = random_graph(9, 4, seed, 4)
        refresh = Refresh(0, 4, 200.0)
        best = cheapest(graph, lambda node, r=refresh: r, lambda level: level + 1.0)
        placement = place(graph, refresh, level_cost=lambda level: level + 1.0)
        ratios.append(placement.cost / best)
    assert max(ratios) <= 1.1
    assert np.mean(ratios) <= 1.01


def test_chains_need_the_quotient():
    for depth, start, given in itertools.product((1, 7, 40, 100), (0, 3), (1, 4, 14)):
        placement = place(chain([1] * depth, start), Refresh(0, given))
        assert placement.exact
        assert placement.count == max(0, -(-(depth - start) // given))


def test_levels_are_no_higher_than_what_follows_needs():
    placement = place(chain([1] * 7, 3), Refresh(0, 14, 200.0), level_cost=lambda level: level + 1.0)
    assert placement.refreshed == (3,)  # as late as possible
    assert placement.lowered == {3: 4}
    assert placement.levels == (3, 2, 1, 4, 3, 2, 1, 0)


def test_waiting_ciphertexts_share_calls():
    nodes = [Node(INPUT, fixed_level=1, slots=8) for _ in range(3)]
    nodes += [Node("multiply", (k, k), 1, slots=8) for k in range(3)]
    nodes += [Node("multiply", (3 + k, 3 + k), 1, slots=8) for k in range(3)]
    placement = place(ProgramGraph(tuple(nodes)), Refresh(0, 2))
    assert placement.count == 3
    assert len(placement.groups) == 1


def test_bootstraps_stand_where_few_ciphertexts_are():
    """One value becomes eight: it is bootstrapped before, although it still has levels then."""
    nodes = [Node(INPUT, fixed_level=3), Node("square", (0, 0), 1)]
    for each in range(8):
        nodes.append(Node("multiply", (1,), 1))
        for _ in range(each % 2 + 2):
            nodes.append(Node("multiply", (len(nodes) - 1,), 1))
    placement = place(ProgramGraph(tuple(nodes)), Refresh(0, 4))
    assert placement.count == 1
    assert placement.refreshed in ((0,), (1,))


def least_by_integer_program(graph, refresh):
    """By HiGHS: variables are the levels of all nodes, and whether each is bootstrapped."""
    optimize, sparse = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.sparse")
    count, top = len(graph), refresh.output_level
    rows, least, most = [], [], []

    def row(low, high, **terms):
        rows.append(terms)
        least.append(low)
        most.append(high)

    taken = graph.consumers()
    for number, node in enumerate(graph.nodes):
        own, chosen = f"l{number}", f"x{number}"
        if not node.operands:
            row(-np.inf, node.fixed_level, **{own: 1, chosen: -top})
        for each in dict.fromkeys(node.operands):
            row(-np.inf, -node.levels, **{own: 1, f"l{each}": -1, chosen: -(top + node.levels)})
            row(node.levels, np.inf, **{f"l{each}": 1, chosen: -refresh.input_level})
    table = sparse.lil_matrix((len(rows), 2 * count))
    for index, terms in enumerate(rows):
        for name, factor in terms.items():
            table[index, int(name[1:]) + (0 if name[0] == "x" else count)] = factor
    cost = np.concatenate([np.ones(count), np.zeros(count)])
    upper = np.concatenate([[1.0 if each else 0.0 for each in taken], np.full(count, float(top))])
    found = optimize.milp(
        cost,
        constraints=optimize.LinearConstraint(table.tocsr(), least, most),
        integrality=cost,
        bounds=optimize.Bounds(np.zeros(2 * count), upper),
        options={"time_limit": 60},
    )
    assert found.status == 0
    return round(found.fun)


@pytest.mark.parametrize(("count", "width", "most"), [(230, 3, 5), (200, 4, 6), (250, 6, 5)])
def test_deep_programs_get_the_least_number(count, width, most):
    """Random programs of depth about 100, where the integer program is solved to the end."""
    graph, refresh = random_graph(count, width, count, most), Refresh(0, most)
    assert graph.depth >= 80
    placement = place(graph, refresh)
    least = least_by_integer_program(graph, refresh)
    assert placement.count <= 1.1 * least
    assert placement.count == least or not placement.exact


def test_wide_programs_stay_within_a_tenth():
    """Sixty live values at a time: states are dropped, and the least number is known from HiGHS (25 s)."""
    graph = random_graph(400, 60, 1, 4)
    placement = place(graph, Refresh(0, 4))
    assert not placement.exact
    assert placement.count <= 1.1 * LEAST_OF_THE_WIDE_PROGRAM


LEAST_OF_THE_WIDE_PROGRAM = 69
"""By `least_by_integer_program`."""


def test_fewer_states_never_break_a_placement():
    graph = random_graph(300, 20, 5, 5)
    few = place(graph, Refresh(1, 5), states=2)
    many = place(graph, Refresh(1, 5))
    assert many.count <= few.count <= 1.5 * many.count
    problem = Problem.of(graph, lambda node: Refresh(1, 5), None)
    assert problem.evaluate(few.refreshed) is not None


def test_what_cannot_be_placed_says_what_is_missing():
    graph = chain([1, 9], 3)
    with pytest.raises(hc.LevelExhausted, match=r"levels missing: 7.*lower degree"):
        place(graph, Refresh(0, 4))
    with pytest.raises(hc.LevelExhausted, match="step"):
        place(chain([1] * 9, 3), lambda node: None)


def test_bad_graphs_are_refused():
    with pytest.raises(hc.InvalidArgument, match="operand 3; expected numbers of earlier nodes"):
        ProgramGraph((Node(INPUT, fixed_level=1), Node("add", (0, 3))))
    with pytest.raises(hc.InvalidArgument, match="expected a fixed_level"):
        ProgramGraph((Node(INPUT),))
    with pytest.raises(hc.InvalidArgument, match="output_level"):
        Refresh(3, 3)
    with pytest.raises(hc.WrongType, match="record_graph"):
        place([], Refresh(0, 1))
