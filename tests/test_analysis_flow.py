"""Who went where: every decision is counted once in each line, and the diagram leaves nothing out."""

from xml.etree import ElementTree

import pytest

from takeup import UNSEEN, InputError, Log, Space
from takeup.analysis.flow import flow
from takeup.charts.flow import MOST_LETTERS, flow_diagram
from test_analysis_missing import SPACE, some


def texts_of(drawn: str) -> list[str]:
    """Every line of a diagram."""
    return [each.text for each in ElementTree.fromstring(drawn).iter() if each.text]


def test_a_flow_counts_every_decision_once_in_each_line() -> None:
    log = some()
    found = flow(log)
    assert found.assessed == 60 == sum(found.contexts.values()) == sum(found.sources.values())
    assert found.analysed + found.missing == 60
    rows = list(zip(log.proposal, log.implemented, log.outcome, strict=True))
    for z, arm in enumerate(found.arms):
        mine = [(a, y) for own, a, y in rows if own == z]
        assert arm.allocated == len(mine) == sum(arm.took.values()) + arm.not_reported == arm.followed_up + arm.lost
        assert arm.took == {name: sum(a == k for a, _ in mine) for k, name in enumerate(SPACE.implemented)}
        assert arm.complied == sum(a == z for a, _ in mine)
        assert arm.analysed == sum(y != UNSEEN for _, y in mine)
        assert arm.analysed_by_action == sum(y != UNSEEN and a != UNSEEN for a, y in mine)
    assert found.plain()["arms"][0]["proposal"] == "usual"
    with pytest.raises(InputError, match="a single trial"):
        flow(some(batch=(2,)))


def test_the_diagram_holds_every_count_and_no_markup_of_names() -> None:
    names = Space(["<b>usual</b>", "a new drug whose name is far too long for a box"], contexts=8)
    log = some()
    drawn = flow_diagram(flow(log).plain())
    root = ElementTree.fromstring(drawn)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    for arm in flow(log).arms:
        for line in (f"allocated: {arm.allocated}", f"lost: {arm.lost}", f"analysed: {arm.analysed}"):
            assert line in texts
        assert {f"took {name}: {many}" for name, many in arm.took.items() if many} <= set(texts)
    assert "60 were assessed and allocated." in root.attrib["aria-label"]
    odd = Log.of(names, [0, 1], [0.5, 0.5], outcome=[0, UNSEEN], context=[0, 7])
    texts = [each.text for each in ElementTree.fromstring(flow_diagram(flow(odd).plain())).iter() if each.text]
    assert "<b>usual</b>" in texts
    assert "2 others: 1" in texts
    assert max(len(text) for text in texts if text) <= MOST_LETTERS


def test_long_names_are_wrapped_and_none_is_cut_off() -> None:
    name = "a new drug whose name is far too long for a box"
    space = Space(["usual", name], ["usual", "Pneumonoultramicroscopicsilicovolcanoconiosis"])
    log = Log.of(space, [0, 1], [0.5, 0.5], implemented=[0, 1], outcome=[0, UNSEEN])
    lines = texts_of(flow_diagram(flow(log).plain()))
    assert name in " ".join(lines)
    assert "Pneumonoultramicroscopicsilicovolcanoconiosis: 1" in "".join(lines)
    assert not any(".." in line for line in lines)


def test_outcomes_of_a_running_trial_are_awaited_and_those_of_a_finished_one_lost() -> None:
    log = Log.of(Space(2), [0, 0, 1], [0.5, 0.5], outcome=[1, UNSEEN, UNSEEN])
    over, running = flow(log), flow(log, finished=False)
    assert [(arm.awaited, arm.lost) for arm in over.arms] == [(0, 1), (0, 1)]
    assert [(arm.awaited, arm.lost) for arm in running.arms] == [(1, 0), (1, 0)]
    assert over.missing == running.missing == 2
    said = texts_of(flow_diagram(running.plain()))
    assert "outcome awaited: 1" in said
    assert not any("lost" in line for line in said)
    assert "lost: 1" in texts_of(flow_diagram(over.plain()))
