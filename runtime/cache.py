"""What a sequence remembers between steps: window rings, compressed stores, open pairs and token history.

A step opens with `begin`, writes the state of all its rows, reads what each row may see, and closes with
`commit`, which keeps the first rows and forgets the rest. Forgetting moves one number: entries of rejected
rows stay where they are, invisible by position, and are overwritten before they could become visible. That
holds because a ring has at least `window + rows` slots. The open pair of a ratio-2 compressor is the
exception; `commit` takes it from the step's rows.

All values are dequantised and held in float32, which holds bf16 and every cache format exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.config import ModelConfig


@dataclass(frozen=True)
class Layout:
    """Sizes of one sequence's state.

    windows  number of rings: backbone layers first, then draft stages
    window   positions a row may see in a ring, its own included
    ring     slots of a ring
    ratios   ratio of each layer that owns a compressed store, 1 or 2 positions a latent
    context  positions a sequence may hold
    """

    windows: int
    window: int
    ring: int
    head_dim: int
    index_dim: int
    ratios: Mapping[int, int]
    rows: int
    context: int

    @classmethod
    def of(cls, config: ModelConfig, rows: int, context: int, draft: bool = True) -> Layout:
        """The sizes of a model's state, with rings for the draft stages if there are any."""
        stages = config.num_nextn_predict_layers if draft else 0
        return cls(
            windows=config.num_hidden_layers + stages,
            window=config.sliding_window,
            ring=config.sliding_window + rows,
            head_dim=config.head_dim,
            index_dim=config.index_head_dim,
            ratios=config.ratios_by_source,
            rows=rows,
            context=context,
        )

    def slots(self, source: int) -> int:
        """Slots of a compressed store that holds the whole context."""
        return -(-self.context // self.ratios[source])


@dataclass(frozen=True)
class Places:
    """Where rows at given positions write and read in any ring.

    write    [R] int64, the slot of each row's own position
    read     [R, W] int64, the slots of the last W positions up to the row's own, ascending
    visible  [R, W] bool, false where the position would be negative
    """

    write: Tensor
    read: Tensor
    visible: Tensor


@dataclass(frozen=True)
class Pairs:
    """The pairs that a step's rows complete in a ratio-2 compressor.

    k, s   [G, 2, K] f32, key and gate of the even and the odd position
    slots  [G] int64, the latent slots they close; the pair of slot j holds positions 2j and 2j + 1
    """

    k: Tensor
    s: Tensor
    slots: Tensor


@dataclass(frozen=True)
class Pending:
    """The (k, s) of an even last position, waiting for its odd partner; `valid` says whether there is one."""

    k: Tensor
    s: Tensor
    valid: bool


class Cache:
    """The state of one sequence: positions before `next_position` are committed, that one is fed next."""

    def __init__(self, layout: Layout, device: str | torch.device = "cpu") -> None:
        self.layout = layout
        self.next_position = 0
        self.step_rows = 0

        def floats(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.float32, device=device)

        self._rings = [floats(layout.ring, layout.head_dim) for _ in range(layout.windows)]
        self._latents = {layer: floats(layout.slots(layer), layout.head_dim) for layer in layout.ratios}
        self._keys = {layer: floats(layout.slots(layer), layout.index_dim) for layer in layout.ratios}
        paired = [layer for layer, ratio in layout.ratios.items() if ratio == 2]
        self._open = {layer: floats(2, layout.head_dim) for layer in paired}  # k, s of an even last position
        self._rows = {layer: floats(layout.rows, 2, layout.head_dim) for layer in paired}  # k, s of this step's rows
        self.history = torch.zeros(layout.context, dtype=torch.int64, device=device)
        self._back = torch.arange(1 - layout.window, 1, device=device)
        self._places_of: tuple[Tensor | None, Places | None] = (None, None)

    # A step

    def begin(self, rows: int) -> Tensor:
        """Open a step of `rows` rows at `next_position`; their positions [R] int64.

        Hand this very tensor to the other calls of the step: where it points in the rings is worked out once.
        """
        assert 1 <= rows <= self.layout.rows
        assert self.next_position + rows <= self.layout.context
        self.step_rows = rows
        return torch.arange(self.next_position, self.next_position + rows, device=self.history.device)

    def commit(self, kept: int) -> None:
        """Close the step: keep its first `kept` rows and forget the others."""
        assert 1 <= kept <= self.step_rows
        self.next_position += kept
        self.step_rows = 0
        if self.next_position % 2:
            for layer, rows in self._rows.items():
                self._open[layer].copy_(rows[kept - 1])

    # Window rings

    def window(self, layer: int) -> Tensor:
        """The ring of a layer [ring, K] f32; a position's slot is its remainder by `ring`."""
        return self._rings[layer]

    def places(self, positions: Tensor) -> Places:
        """Slots for rows at `positions` [R] int64; remembered for the last tensor given."""
        known, places = self._places_of
        if positions is known and places is not None:
            return places
        back = positions[:, None] + self._back  # [R, W]
        ring = self.layout.ring
        places = Places(write=positions.remainder(ring), read=back.remainder(ring), visible=back >= 0)
        self._places_of = (positions, places)
        return places

    def write_window(self, layer: int, positions: Tensor, kv: Tensor) -> None:
        """Put kv [R, K] at `positions` [R] of a layer's ring."""
        self._rings[layer].index_copy_(0, self.places(positions).write, kv.float())

    def read_window(self, layer: int, positions: Tensor) -> tuple[Tensor, Tensor]:
        """What rows at `positions` [R] see: kv [R, W, K] f32 by ascending position, and visible [R, W] bool.

        Row r sees max(0, p - W + 1) .. p, so rows of the same step must have been written. Invisible entries
        are finite.
        """
        places = self.places(positions)
        return self._rings[layer][places.read], places.visible

    # Compressed stores

    def compressed(self, source: int) -> tuple[Tensor, Tensor]:
        """Latents [slots, K] f32 and index keys [slots, index_dim] f32 of a source; see `visible_slots`."""
        return self._latents[source], self._keys[source]

    def visible_slots(self, source: int, position: int) -> int:
        """How many leading slots the row at `position` may see, that row's own included."""
        return (position + 1) // self.layout.ratios[source]

    def closing(self, source: int) -> range:
        """The slots that this step's rows close."""
        last = self.next_position + self.step_rows - 1
        return range(self.visible_slots(source, self.next_position - 1), self.visible_slots(source, last))

    def write_compressed(self, source: int, latents: Tensor, keys: Tensor) -> None:
        """Store what this step closes: latents [G, K], keys [G, index_dim]; G = len(closing(source))."""
        closing = self.closing(source)
        self._latents[source][closing.start : closing.stop] = latents
        self._keys[source][closing.start : closing.stop] = keys

    def pairs(self, source: int, k: Tensor, s: Tensor) -> Pairs:
        """Pairs completed by this step's rows k, s [R, K] f32; an odd first position closes the open one.

        Keeps the rows until `commit`, which may have to open one of them.
        """
        rows = self._rows[source][: len(k)]
        rows[:, 0] = k
        rows[:, 1] = s
        if self.next_position % 2:
            rows = torch.cat([self._open[source][None], rows])
        closing = self.closing(source)
        whole = rows[: 2 * len(closing)].reshape(-1, 2, *rows.shape[1:])  # [G, pair, k or s, K]
        slots = torch.arange(closing.start, closing.stop, device=k.device)
        return Pairs(k=whole[:, :, 0], s=whole[:, :, 1], slots=slots)

    def pending(self, source: int) -> Pending:
        """The open pair of a ratio-2 source between steps."""
        k, s = self._open[source]
        return Pending(k, s, valid=self.next_position % 2 == 1)

    # Token history

    def write_history(self, positions: Tensor, ids: Tensor) -> None:
        """Put compressed token ids [R] int64 at `positions` [R]."""
        self.history.index_copy_(0, positions, ids)

    # The whole

    def _buffers(self) -> Iterator[Tensor]:
        yield from self._rings
        for tensors in (self._latents, self._keys, self._open):
            yield from tensors.values()
        yield self.history

    def snapshot(self) -> tuple[int, list[Tensor]]:
        """A copy of everything between steps, for `restore`."""
        return self.next_position, [buffer.clone() for buffer in self._buffers()]

    def restore(self, snapshot: tuple[int, list[Tensor]]) -> None:
        """Become what `snapshot` saw; the buffers stay where they are."""
        self.next_position, tensors = snapshot
        self.step_rows = 0
        for buffer, saved in zip(self._buffers(), tensors, strict=True):
            buffer.copy_(saved)

    def tensors(self) -> dict[str, Tensor]:
        """The committed state by name, in a fixed order: no padding, no rejected rows.

        `window.N` [min(W, n), K] holds the last positions ascending, `latents.N` and `keys.N` the closed
        slots, `pending.N` [2, K] the open (k, s) when the length n is odd, `history` [n] the compressed ids.
        """
        n = self.next_position
        recent = torch.arange(max(0, n - self.layout.window), n, device=self.history.device).remainder(self.layout.ring)
        visible = {f"window.{layer}": ring[recent] for layer, ring in enumerate(self._rings)}
        for source in self.layout.ratios:
            closed = self.visible_slots(source, n - 1)
            visible[f"latents.{source}"] = self._latents[source][:closed]
            visible[f"keys.{source}"] = self._keys[source][:closed]
        if n % 2:
            visible |= {f"pending.{source}": pair for source, pair in self._open.items()}
        return visible | {"history": self.history[:n]}
