"""Synthetic checkpoints: the same bits anywhere, and a model that speculates like one."""

import hashlib
from dataclasses import replace
from functools import lru_cache

import pytest
import torch

from runtime import draws, synthetic
from runtime.checkpoint import load
from runtime.config import named
from runtime.decoder import Decoder
from runtime.draws import key
from runtime.footprint import uniform_union
from runtime.synthetic import Maker, Recipe, draw, make, near_normal, places, token_map
from runtime.tapes import NAMES, tapes
from runtime.tensors import expected
from tests.runtime.decoding import tiny

TINY = named("tiny")
# Of the weights that `make(named("tiny"), ...)` writes: integers and exact roundings, so the same on every machine.
TINY_DIGEST = "72786426995f13e916da49d54dbd687b007f2ce9794d245d884db46d715c209c"


def by_hand(key_: int, place: int) -> int:
    """The draw of one place in Python's own integers."""
    mask = 2**64 - 1
    z = (place * (draws.GOLDEN & mask) + key_) & mask
    z = ((z ^ z >> 30) * (draws.MIX_1 & mask)) & mask
    z = ((z ^ z >> 27) * (draws.MIX_2 & mask)) & mask
    z ^= z >> 31
    return 2 * sum(z >> 8 * byte & 255 for byte in range(8)) - 2040


def test_a_draw_is_a_function_of_its_key_and_place():
    own = key(7, "layers.0.attn.wq_a.weight")
    at = torch.tensor([0, 1, 2, 1000, 2**40])
    assert near_normal(own, at).tolist() == [by_hand(own, int(place)) for place in at]


def test_any_tile_is_cut_from_the_same_whole():
    own, shape = key(7, "x"), (96, 64)
    whole = draw(own, shape, 0.1)
    tile = draw(own, shape, 0.1, rows=range(32, 64), columns=range(16, 48))
    assert torch.equal(tile, whole[32:64, 16:48])


def test_draws_are_near_normal():
    drawn = near_normal(key(1, "y"), places(range(300), range(300), 300)).double() / synthetic.NORMAL_SD
    assert abs(drawn.mean()) < 0.02 and abs(drawn.std() - 1) < 0.01
    assert abs((drawn.abs() < 1).double().mean() - 0.6827) < 0.01


@lru_cache
def made(seed: int) -> str:
    whole = hashlib.sha256()
    for name, tensor in Maker(replace(TINY), Recipe(), seed).tensors():
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        whole.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return whole.hexdigest()


def test_tiny_has_the_same_bits_on_every_machine():
    assert made(synthetic.SEED) == TINY_DIGEST


def test_another_seed_is_another_model():
    assert made(synthetic.SEED + 1) != TINY_DIGEST


def test_a_folder_holds_exactly_what_its_configuration_asks_for(tmp_path):
    make(TINY, tmp_path / "tiny")
    loaded = load(tmp_path / "tiny")
    assert list(loaded.tensors) == list(expected(TINY))
    assert loaded.config == TINY
    assert sum(tensor.nbytes for tensor in loaded.tensors.values()) < 8_000_000


def test_the_command_says_what_is_wrong_in_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["synthetic", "huge", str(tmp_path / "x")])
    assert synthetic.main() == 1
    assert capsys.readouterr().err.startswith("checkpoint make: no model is called 'huge'")


@pytest.mark.parametrize("name", ["tiny", "slice10"])
def test_a_token_map_is_onto_its_compressed_vocabulary(name):
    config = named(name)
    ids = token_map(config).tolist()
    assert len(ids) == config.vocab_size and ids[ord("A")] == ids[ord("a")] and ids[ord("\n")] == ids[ord(" ")]
    assert set(ids) == set(range(max(ids) + 1)) and max(ids) < config.engram_compressed_vocab_size
    assert list(dict.fromkeys(ids)) == list(range(max(ids) + 1))  # in first-seen order


def test_there_are_eight_tapes_of_at_most_24_tokens():
    texts = tapes(TINY)
    assert [tape.name for tape in texts] == list(NAMES)
    assert all(1 < len(tape.prompt) <= 24 and tape.prompt[0] == TINY.bos_token_id for tape in texts)
    assert len({tape.prompt for tape in texts}) == 8
    assert max(len(tape.prompt) for tape in tapes(named("slice10"))) > 200


@lru_cache
def spoken() -> tuple[list[float], list[float], float]:
    """Tokens a step by tape, the share of steps that accept at least i drafts, and experts a layer."""
    decoder: Decoder = tiny()
    by_tape, accepted, experts = [], [], []
    for tape in tapes(TINY):
        state = decoder.new_state()
        decoder.prefill(state, tape.prompt)
        steps = list(decoder.generate(state, 24, rows=6, ignore_eos=True))
        by_tape.append(sum(step.accepted + 1 for step in steps) / len(steps))
        accepted += [step.accepted for step in steps]
        experts += [sum(step.experts) / len(step.experts) for step in steps]
    curve = [sum(m >= i for m in accepted) / len(accepted) for i in range(1, 6)]
    return by_tape, curve, sum(experts) / len(experts)


def test_tiny_emits_two_to_five_tokens_a_step_and_later_drafts_less_often():
    by_tape, curve, _ = spoken()
    assert all(2 <= tokens <= 5 for tokens in by_tape)
    assert curve == sorted(curve, reverse=True) and curve[0] < 1 and curve[-1] < curve[0] - 0.2


def test_neighbouring_rows_share_experts():
    assert spoken()[2] < uniform_union(TINY.n_routed_experts, TINY.num_experts_per_tok, 6) - 2
