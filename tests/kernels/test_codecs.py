"""Codecs against exhaustive tables and published blocks."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from kernels import codecs

PUBLISHED = np.load(Path(__file__).parent.parent / "data" / "M03" / "codecs.npz")
BYTES = torch.arange(256, dtype=torch.uint8)


def e4m3_value(code: int) -> float:
    """By the format's definition: sign, four exponent bits of bias 7, three mantissa bits; 0x7F is NaN."""
    sign = -1.0 if code & 128 else 1.0
    exponent, mantissa = code >> 3 & 15, code & 7
    if code & 127 == 127:
        return float("nan")
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


def bits(values: torch.Tensor) -> list[int]:
    return [int(v) & 0xFFFF_FFFF for v in values.contiguous().view(torch.int32).flatten()]


def published(name: str) -> torch.Tensor:
    array = PUBLISHED[name]
    if array.dtype == np.uint16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def test_every_e4m3_code_decodes_by_the_definition():
    expected = torch.tensor([e4m3_value(code) for code in range(256)])
    found = codecs.e4m3_decode(BYTES)
    assert torch.equal(found.isnan(), expected.isnan())
    assert torch.equal(torch.nan_to_num(found), torch.nan_to_num(expected))


def test_every_e4m3_value_survives_a_round_trip_and_every_tie_goes_to_the_even_code():
    finite = [code for code in range(256) if code & 127 != 127]
    values = torch.tensor([e4m3_value(code) for code in finite])
    assert codecs.e4m3_encode(values).tolist() == finite
    for code in range(126):
        middle = (Fraction(e4m3_value(code)) + Fraction(e4m3_value(code + 1))) / 2
        even = code if code % 2 == 0 else code + 1
        assert codecs.e4m3_encode(torch.tensor([float(middle)])).item() == even


def test_every_e2m1_code_decodes_and_every_tie_goes_to_the_even_code():
    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert codecs.e2m1_decode(BYTES[:16]).tolist() == magnitudes + [-m for m in magnitudes]
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0])
    assert codecs.e2m1_decode(codecs.e2m1_codes(ties)).tolist() == [0, 1, 1, 2, 2, 4, 4, 6]
    assert codecs.e2m1_codes(-ties).tolist() == [code | 8 for code in codecs.e2m1_codes(ties).tolist()]


def test_the_nearest_e2m1_code_is_found_for_a_fine_grid():
    grid = torch.arange(-800, 801) / 100.0
    table = codecs.e2m1_decode(BYTES[:16])
    nearest = (grid[:, None] - table).abs().amin(1)
    assert torch.equal((grid - codecs.e2m1_decode(codecs.e2m1_codes(grid))).abs(), nearest)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, 0x0040_0000),
        (1, 0x0080_0000),
        (126, 0x3F00_0000),
        (127, 0x3F80_0000),
        (128, 0x4000_0000),
        (134, 0x4300_0000),
        (254, 0x7F00_0000),
        (255, 0x7FC0_0000),
    ],
)
def test_a_scale_byte_decodes_to_these_bits(code, expected):
    assert bits(codecs.ue8m0_decode(torch.tensor([code], dtype=torch.uint8))) == [expected]


def test_every_scale_byte_is_its_power_of_two():
    found = codecs.ue8m0_decode(BYTES)
    assert found[:255].tolist() == [2.0 ** (code - 127) for code in range(255)]
    assert found[255].isnan()
    assert codecs.ue8m0_encode(found[1:255]).tolist() == list(range(1, 255))


def test_packed_pairs_hold_the_even_index_in_the_low_nibble():
    codes = torch.tensor([[1, 2, 15, 0]], dtype=torch.uint8)
    assert codecs.e2m1_pack(codes).view(torch.uint8).tolist() == [[0x21, 0x0F]]
    every = torch.randint(0, 16, (7, 64), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    assert torch.equal(codecs.e2m1_unpack(codecs.e2m1_pack(every)), every)


def swapped(packed):
    raw = packed.view(torch.uint8)
    return torch.stack((raw >> 4, raw & 15), -1).flatten(-2)


def split_half(packed):
    raw = packed.view(torch.uint8)
    return torch.cat((raw & 15, raw >> 4), -1)


@pytest.mark.parametrize("wrong", [swapped, split_half])
def test_another_packing_is_told_from_ours(wrong):
    """Negative control."""
    codes = torch.randint(0, 16, (4, 64), generator=torch.Generator().manual_seed(2), dtype=torch.uint8)
    assert not torch.equal(wrong(codecs.e2m1_pack(codes)), codes)


def test_pow2_ceil_is_exact_at_and_beside_every_power():
    assert torch.equal(codecs.pow2_ceil(published("pow2ceil_in")), published("pow2ceil_out"))
    powers = torch.tensor([2.0**e for e in range(-126, 127)])
    assert torch.equal(codecs.pow2_ceil(powers), powers)
    above = torch.nextafter(powers, torch.tensor(float("inf")))
    assert torch.equal(codecs.pow2_ceil(above), 2 * powers)


@pytest.mark.parametrize("name", ["q8", "q4i", "q4kv"])
@pytest.mark.parametrize("form", ["", "_bf16_bits"])
def test_a_quantise_step_gives_the_published_values(name, form):
    codec = getattr(codecs, name)
    assert torch.equal(codec(published(f"{name}_in{form}")), published(f"{name}_out{form}"))


@pytest.mark.parametrize("codec", [codecs.q8, codecs.q4i, codecs.q4kv])
def test_a_block_does_not_know_its_neighbours(codec):
    x = torch.randn(6, 128, generator=torch.Generator().manual_seed(3)) * 10
    whole = codec(x)
    for row in range(6):
        for start in range(0, 128, 32):
            part = codec(x[row : row + 1, start : start + 32].clone())
            assert torch.equal(part[0], whole[row, start : start + 32])


def test_a_zero_block_stays_zero_and_a_large_one_is_clamped_to_the_format():
    assert torch.equal(codecs.q8(torch.zeros(1, 32)), torch.zeros(1, 32))
    assert torch.equal(codecs.q4kv(torch.zeros(1, 16)), torch.zeros(1, 16))
    spike = torch.zeros(1, 32)
    spike[0, 5] = 449.0  # the scale is 2, the code that of 224.5: between 224 and 240
    assert codecs.q8(spike)[0, 5] == 448.0
