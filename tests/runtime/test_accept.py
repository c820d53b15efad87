"""Greedy acceptance emits what decoding one token at a time would emit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.accept import Acceptance, accept

EOS = 2


@pytest.mark.parametrize(
    ("drafts", "argmax", "accepted"),
    [
        ((11, 12, 13, 14, 15), (11, 99, 13, 14, 15, 16), 1),
        ((11, 12, 13, 14, 15), (11, 12, 13, 14, 15, 16), 5),
        ((11, 12, 13, 14, 15), (50, 12, 13, 14, 15, 16), 0),
        ((11, 12, 13, 14, 15), (11, 12, 13, 14, 77, 16), 4),
        ((), (42,), 0),
        ((9, 9, 9, 9, 9), (9, 9, 8, 9, 9, 9), 2),
    ],
    ids=["later matches do not count", "all", "none", "all but one", "no drafts", "repeated tokens"],
)
def test_the_matching_prefix_and_one_token_more_are_emitted(drafts, argmax, accepted):
    expected = Acceptance(accepted, argmax[: accepted + 1], kept=accepted + 1, finished=False)
    assert accept(drafts, argmax) == expected


@pytest.mark.parametrize(
    ("drafts", "argmax", "ignore_eos", "expected"),
    [
        ((101, 102, EOS, 104, 105), (101, 102, EOS, 104, 105, 106), False, (5, (101, 102, EOS), 3, True)),
        (
            (101, 102, 103, 104, 105),
            (101, 102, 103, 104, 105, EOS),
            False,
            (5, (101, 102, 103, 104, 105, EOS), 6, True),
        ),
        ((EOS, 102, 103, 104, 105), (EOS, 102, 103, 104, 105, 106), False, (5, (EOS,), 1, True)),
        ((101, EOS, 103, 104, 105), (101, 55, 103, 104, 105, 106), False, (1, (101, 55), 2, False)),
        (
            (101, 102, EOS, 104, 105),
            (101, 102, EOS, 104, 105, 106),
            True,
            (5, (101, 102, EOS, 104, 105, 106), 6, False),
        ),
    ],
    ids=["inside", "as bonus", "first", "in a rejected draft", "ignored"],
)
def test_the_text_ends_at_the_end_token(drafts, argmax, ignore_eos, expected):
    assert accept(drafts, argmax, eos=EOS, ignore_eos=ignore_eos) == Acceptance(*expected)


@pytest.mark.parametrize(("cap", "kept", "finished"), [(1, 1, True), (3, 3, True), (6, 6, True), (7, 6, False)])
def test_a_length_cap_cuts_the_emission_and_ends_the_text(cap, kept, finished):
    drafts, argmax = (1, 3, 4, 5, 6), (1, 3, 4, 5, 6, 7)
    assert accept(drafts, argmax, cap=cap) == Acceptance(5, argmax[:kept], kept, finished)


def test_an_end_token_behind_the_cap_is_not_emitted():
    assert accept((5, EOS), (5, EOS, 6), eos=EOS, cap=1) == Acceptance(2, (5,), 1, True)


def one_at_a_time(argmax, drafts, cap):
    """Emit greedy tokens until the context of the next choice is no longer what the model would have read."""
    emitted = []
    for row, choice in enumerate(argmax):
        emitted.append(choice)
        if choice == EOS or len(emitted) == cap:
            return tuple(emitted), True
        if row == len(drafts) or drafts[row] != choice:
            break
    return tuple(emitted), False


@given(st.data())
def test_any_step_emits_what_one_token_at_a_time_would(data):
    token = st.integers(1, 4)
    drafts = data.draw(st.lists(token, max_size=7))
    argmax = [data.draw(st.sampled_from((draft, draft, EOS, 3))) for draft in drafts] + [data.draw(token)]
    cap = data.draw(st.integers(1, 9))
    step = accept(drafts, argmax, eos=EOS, cap=cap)
    assert (step.emitted, step.finished) == one_at_a_time(argmax, drafts, cap)
