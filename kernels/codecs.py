"""Number formats of the checkpoint and caches: E4M3, E2M1, UE8M0, and the three quantise-dequantise steps.

All are elementwise or per block, so a value's bits do not depend on what stands around its block.
Source: written here, after the OCP microscaling formats and the architecture's own constants.
"""

from __future__ import annotations

import torch
from torch import Tensor

E4M3_MAX = 448.0
E2M1_MAX = 6.0
E2M1_VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
# Halfway points of neighbouring magnitudes; a tie goes to the even code, so equality rounds up at every other one.
E2M1_BOUNDS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
E2M1_TIE_UP = (False, True, False, True, False, True, False)

Q8_BLOCK = 32
Q4I_BLOCK = 32
Q4KV_BLOCK = 16


def e4m3_decode(codes: Tensor) -> Tensor:
    """Bytes [...] uint8 as E4M3 -> f32; 0x7F and 0xFF are NaN."""
    return codes.view(torch.float8_e4m3fn).float()


def e4m3_round(values: Tensor) -> Tensor:
    """Nearest E4M3 value (ties to even) of f32 values within +-448 -> f32."""
    return values.to(torch.float8_e4m3fn).float()


def e4m3_encode(values: Tensor) -> Tensor:
    """f32 within +-448 -> E4M3 bytes, uint8, ties to even."""
    return values.to(torch.float8_e4m3fn).view(torch.uint8)


def e2m1_codes(values: Tensor) -> Tensor:
    """f32 -> E2M1 codes 0..15 uint8, nearest, ties to even, clamped at +-6; bit 3 is the sign."""
    magnitude = values.abs()
    code = torch.zeros_like(magnitude, dtype=torch.uint8)
    for bound, up in zip(E2M1_BOUNDS, E2M1_TIE_UP, strict=True):
        code += (magnitude >= bound) if up else (magnitude > bound)
    return code | (torch.signbit(values).to(torch.uint8) << 3)


def e2m1_decode(codes: Tensor) -> Tensor:
    """E2M1 codes 0..15 -> f32; code 8 is -0."""
    table = torch.tensor(E2M1_VALUES + tuple(-v for v in E2M1_VALUES), device=codes.device)
    return table[codes.long()]


def e2m1_pack(codes: Tensor) -> Tensor:
    """Codes [..., K] -> bytes [..., K/2] int8; the low nibble is the even index."""
    pairs = codes.reshape(*codes.shape[:-1], -1, 2)
    return (pairs[..., 0] | (pairs[..., 1] << 4)).view(torch.int8)


def e2m1_unpack(packed: Tensor) -> Tensor:
    """Bytes [..., K/2] int8 or uint8 -> codes [..., K] uint8; the low nibble is the even index."""
    raw = packed.view(torch.uint8)
    return torch.stack((raw & 15, raw >> 4), dim=-1).flatten(-2)


def ue8m0_decode(codes: Tensor) -> Tensor:
    """Scale bytes uint8 -> f32 2^(byte - 127), built from bits: 0 is 2^-127 (subnormal), 0xFF is NaN."""
    wide = codes.view(torch.uint8).to(torch.int32)
    bits = torch.where(wide == 0, 0x0040_0000, wide << 23)
    return torch.where(wide == 255, 0x7FC0_0000, bits).to(torch.int32).view(torch.float32)


def ue8m0_encode(scales: Tensor) -> Tensor:
    """Powers of two 2^-126 .. 2^127 f32 -> scale bytes uint8; any other value is an error."""
    bits = scales.float().contiguous().view(torch.int32)
    assert bool(((bits & 0x007F_FFFF) == 0).all()), "UE8M0 holds powers of two only"
    return (bits >> 23).to(torch.uint8)


def pow2_ceil(values: Tensor) -> Tensor:
    """Smallest power of two not below each positive normal f32, exact by the bit pattern: up, then cut."""
    bits = values.contiguous().view(torch.int32) + 0x007F_FFFF
    return bits.bitwise_and_(0x7F80_0000).view(torch.float32)


def _blocks(x: Tensor, size: int) -> Tensor:
    assert x.shape[-1] % size == 0, f"the last dimension {x.shape[-1]} is not a multiple of {size}"
    return x.float().reshape(*x.shape[:-1], -1, size)


def q8_scales(x: Tensor) -> Tensor:
    """Scales of Q8 [..., K/32] f32: the power of two not below amax/448, amax at least 1e-4."""
    amax = _blocks(x, Q8_BLOCK).abs().amax(-1).clamp(min=1e-4)
    return pow2_ceil(amax * (1.0 / 448.0))


def q8(x: Tensor) -> Tensor:
    """Quantise-dequantise to E4M3 by blocks of 32 along the last dimension; same shape and dtype as x."""
    scale = q8_scales(x)[..., None]
    codes = e4m3_round((_blocks(x, Q8_BLOCK) / scale).clamp(-E4M3_MAX, E4M3_MAX))
    return (codes * scale).reshape(x.shape).to(x.dtype)


def q4i(x: Tensor) -> Tensor:
    """Quantise-dequantise to E2M1 with a power-of-two scale by blocks of 32: index keys and queries."""
    blocks = _blocks(x, Q4I_BLOCK)
    amax = blocks.abs().amax(-1, keepdim=True).clamp(min=6 * 2.0**-126)
    scale = pow2_ceil(amax / 6.0)
    return (e2m1_decode(e2m1_codes(blocks / scale)) * scale).reshape(x.shape).to(x.dtype)


def q4kv(x: Tensor) -> Tensor:
    """Quantise-dequantise to E2M1 with an E4M3 scale by blocks of 16: compressed KV. amax up to 2688."""
    blocks = _blocks(x, Q4KV_BLOCK)
    amax = blocks.abs().amax(-1, keepdim=True).clamp(min=6 * 2.0**-9)
    scale = e4m3_round(amax / 6.0)
    return (e2m1_decode(e2m1_codes((blocks / scale).clamp(-E2M1_MAX, E2M1_MAX))) * scale).reshape(x.shape).to(x.dtype)
