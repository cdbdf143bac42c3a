"""Leases: what a client draws from by itself, the same in any process."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2

from takeup.errors import InputError
from takeup.trial.leases import GRAIN, Lease, drawn_bits, key_of

LEASE = Lease(
    trial="stroke",
    number=3,
    spec="00" * 32,
    version=17,
    issued=1_000_000,
    expires=31_000_000,
    most=100,
    key=key_of(5, 3).hex(),
    contexts=("young", "old"),
    proposals=("rest", "drug", "both"),
    ends=((GRAIN // 2, GRAIN // 2, GRAIN), (GRAIN // 10, 3 * GRAIN // 10, GRAIN)),
    many=False,
)
FALSE_ALARM = 1e-4


def test_draws_follow_the_vector() -> None:
    """Chi-square against the lease's own probabilities, in both contexts; a false alarm in 10,000 for each."""
    units = 60_000
    for context in (0, 1):
        p = np.array(LEASE.probability(context))
        seen = np.bincount([LEASE.draw(f"unit {i}", None, context) for i in range(units)], minlength=3)
        some = p > 0
        assert seen[~some].sum() == 0
        statistic = ((seen - units * p)[some] ** 2 / (units * p[some])).sum()
        assert statistic < chi2.isf(FALSE_ALARM, some.sum() - 1)


def test_draws_of_two_leases_are_independent() -> None:
    """The pairs of what two leases give to the same units, chi-square; a false alarm in 10,000."""
    other = Lease.of_plain({**LEASE.plain(), "number": 4, "key": key_of(5, 4).hex()})
    units, p = 60_000, np.array(LEASE.probability(1))
    seen = np.zeros((3, 3))
    for i in range(units):
        seen[LEASE.draw(f"unit {i}", None, 1), other.draw(f"unit {i}", None, 1)] += 1
    wanted = units * np.outer(p, p)
    assert ((seen - wanted) ** 2 / wanted).sum() < chi2.isf(FALSE_ALARM, 8)


@pytest.mark.requirement("R-12.1")
def test_a_unit_has_the_same_proposal_in_another_process() -> None:
    units = [f"unit {i}" for i in range(20)] + ["Zoë", "日本", "a" * 200]
    code = (
        "import json, sys\n"
        "from takeup.trial.leases import Lease\n"
        "plain, units = json.load(sys.stdin)\n"
        "lease = Lease.of_plain(plain)\n"
        "print(json.dumps([lease.draw(unit, 'week 1', 1) for unit in units]))"
    )
    import json

    said = json.dumps([LEASE.plain(), units])
    found = subprocess.run([sys.executable, "-c", code], input=said, capture_output=True, text=True, check=True).stdout
    assert json.loads(found) == [LEASE.draw(unit, "week 1", 1) for unit in units]


def test_no_two_pairs_of_unit_and_occasion_are_hashed_alike() -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("abc", None), ("1:a", ""), ("a", "1:"), ("", "abc"), ("a1", ":b"), ("a", "1:b")]
    key = key_of(1, 1)
    found = [drawn_bits(key, unit, occasion) for unit, occasion in pairs]
    assert len(set(found)) == len(pairs)  # a collision of 32 bits by chance: 7e-9, and the key is fixed
    assert drawn_bits(key, "a", None) == drawn_bits(key, "a", "")


def test_keys_differ_by_seed_and_number() -> None:
    keys = {key_of(seed, number) for seed in range(5) for number in range(1, 6)}
    assert len(keys) == 25
    assert {len(key) for key in keys} == {32}


def test_probabilities_are_what_ends_say() -> None:
    assert LEASE.probability(0) == (0.5, 0.0, 0.5)
    assert sum(LEASE.probability(1)) == 1
    for context in (0, 1):
        ends = (0, *LEASE.ends[context])
        assert LEASE.probability(context) == tuple((b - a) / GRAIN for a, b in pairwise(ends))


def test_a_fingerprint_is_of_the_key_and_when_it_was_given() -> None:
    found = {
        LEASE.fingerprint,
        replace(LEASE, issued=2).fingerprint,
        replace(LEASE, key=key_of(6, 3).hex()).fingerprint,
    }
    assert len(found) == 3
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in found)
    assert replace(LEASE, most=5).fingerprint == LEASE.fingerprint


def test_json_and_back() -> None:
    assert Lease.of_plain(LEASE.plain()) == LEASE
    assert LEASE.key not in repr(LEASE)


@pytest.mark.parametrize(
    "change",
    [
        {"key": "00"},
        {"key": "no hexadecimal digits"},
        {"ends": [[1, 2, GRAIN]]},
        {"ends": [[1, 2, 3], [1, 2, GRAIN]]},
        {"ends": [[2, 1, GRAIN], [1, 2, GRAIN]]},
        {"ends": [[0.5, 1, GRAIN], [1, 2, GRAIN]]},
        {"ends": None},
        {"expires": "soon"},
        {"proposals": ["rest"]},
    ],
)
def test_what_is_no_lease_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match="lease"):
        Lease.of_plain({**LEASE.plain(), **change})


def test_a_lease_that_lacks_something_is_refused() -> None:
    plain = LEASE.plain()
    del plain["ends"]
    with pytest.raises(InputError, match="ends"):
        Lease.of_plain(plain)
