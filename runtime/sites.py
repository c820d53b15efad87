"""Binds a kernel to every site of a model, once: its weights, its output buffers, and nothing to decide in the step.

A site is called with activations and returns views `[:R]` of buffers that were allocated here. The table of
sites is `sites.json`; a choice names a site and a kernel's address, and holds in every layer and draft stage
that has the site. A coarser site without a choice is composed: it calls the finer ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.address import Kernel, find
from runtime.config import ModelConfig
from runtime.errors import RuntimeFault
from runtime.specs import Spec, drafting_specs, end_specs, layer_specs, start_specs
from runtime.weights import Weights

Call = Callable[..., Any]
Observe = Callable[[int, str, str, Tensor], None]
Report = Callable[[int, str, str, Tensor, Tensor], None]


class BadChoice(RuntimeFault):
    """A choice that no site, or not this one, can take."""


@lru_cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """Every site by name: its operation, the finer sites it swallows, and what it says of itself."""
    sites: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "sites.json").read_text(encoding="utf-8"))
    return sites


class Site:
    """One place in the step with its kernel, weights and output buffers.

    values  name of each output, as observers know it
    """

    def __init__(self, layer: int, name: str, kernel: Kernel, spec: Spec, rows: int, device: torch.device) -> None:
        self.layer = layer
        self.name = name
        self.kernel = kernel
        self.values = tuple(output.value for output in spec.outputs)
        self.calls = 0
        self._run = kernel.run
        self._weights = tuple(kernel.prepare(spec.weights))
        self._grows = tuple(output.grows for output in spec.outputs)
        self._by_name = spec.by_name
        self._views_of: dict[int, list[Tensor]] = {}
        self.buffers = tuple(
            torch.zeros((rows, *output.shape), dtype=output.dtype, device=device) for output in spec.outputs
        )

    def __call__(self, *inputs: Tensor, slots: int | None = None) -> Any:
        """Run on inputs [R, ...]: one view, or a tuple of views, or a mapping by value name at a coarse site.

        `slots` bounds the last dimension of outputs that grow with the context.
        """
        views = self._views(len(inputs[0]), slots)
        self._run(*views, *inputs, *self._weights)
        self.calls += 1
        if self._by_name:
            return dict(zip(self.values, views, strict=True))
        return views[0] if len(views) == 1 else tuple(views)

    def _views(self, rows: int, slots: int | None) -> list[Tensor]:
        """The outputs' first rows; made once for each count unless they grow."""
        if slots is None and rows in self._views_of:
            return self._views_of[rows]
        assert rows <= len(self.buffers[0]), "more rows than were bound"
        assert slots is None or all(
            slots <= buffer.shape[-1] for buffer, grows in zip(self.buffers, self._grows, strict=True) if grows
        ), "a longer context than was bound"
        views = [
            buffer[:rows, :slots] if grows else buffer[:rows]
            for buffer, grows in zip(self.buffers, self._grows, strict=True)
        ]
        if slots is None:
            self._views_of[rows] = views
        return views


class Composed:
    """A coarser site's default: the finer ones on the same input, by value name."""

    def __init__(self, parts: Mapping[str, Call]) -> None:
        self._parts = parts

    def __call__(self, x: Tensor) -> dict[str, Tensor]:
        return {name: call(x) for name, call in self._parts.items()}


@dataclass(frozen=True)
class Facts:
    """What a layer's code has to know beside its sites.

    layer              number of its ring in the cache; draft stages follow the backbone
    ratio, kv_owner    of the compressed store it reads, 0 and -1 without one
    within_candidates  its selection stays inside the candidate source's best blocks
    """

    layer: int
    ratio: int
    kv_owner: int
    heads: int
    index_heads: int
    within_candidates: bool


class At:
    """The sites of one layer, as attributes: `at.attn_norm(x)`."""

    layer: int
    ratio: int
    kv_owner: int
    heads: int
    index_heads: int
    within_candidates: bool

    def __init__(self, facts: Facts, calls: Mapping[str, Call]) -> None:
        self.__dict__.update(vars(facts))
        self.facts = facts
        self.calls = dict(calls)
        for name, site in table().items():
            parts = {part: calls[part] for part in site["swallows"] if part in calls}
            if parts and name not in calls:
                self.__dict__[name] = Composed(parts)
        self.__dict__.update(calls)

    def __getattr__(self, name: str) -> Call:
        raise AttributeError(f"layer {self.facts.layer} has no site {name!r}")


class Sites:
    """Every site of a model, bound.

    `at[i]` backbone layer or, from `num_hidden_layers` on, draft stage; `at.start` the embedding; `at.end` the
    head; `at.drafting` what the draft has beside its stages. For observers these last three are layers -1, N
    and N + 1, where N counts backbone layers and draft stages.
    """

    def __init__(self, layers: Sequence[At], start: At, end: At, drafting: At) -> None:
        self._layers = tuple(layers)
        self.start = start
        self.end = end
        self.drafting = drafting

    def __getitem__(self, layer: int) -> At:
        return self._layers[layer]

    def all(self) -> Iterator[Site]:
        """Every bound site in the order of the step."""
        for at in _tables(self):
            yield from (site for call in at.calls.values() if (site := _bound(call)))

    def mapped(self, change: Callable[[At, str, Call], Call]) -> Sites:
        """The same table with each call replaced by `change(at, name, call)`."""

        def changed(at: At) -> At:
            return At(at.facts, {name: change(at, name, call) for name, call in at.calls.items()})

        start, *layers, end, drafting = map(changed, _tables(self))
        return Sites(layers, start, end, drafting)

    def observed(self, callback: Observe) -> Sites:
        """The same table, every site followed by `callback(layer, site, value name, tensor)` an output.

        A coarse site's values have the names of the finer sites' values, so that two tables that fuse
        differently can be compared by value name.
        """
        return self.mapped(lambda at, name, call: _Observed(at.layer, name, call, callback))

    def poison(self, byte: int) -> None:
        """Fill every output buffer with a byte: 0xFF makes all floats NaN."""
        for site in self.all():
            for buffer in site.buffers:
                buffer.view(torch.uint8).fill_(byte)

    def kernels(self) -> dict[str, str]:
        """The source digest of each bound kernel, by address."""
        return {site.kernel.address: site.kernel.source_sha256 for site in self.all()}

    def launches(self) -> dict[str, int]:
        """Calls of each kernel since the last reset, by address."""
        counts: dict[str, int] = {}
        for site in self.all():
            counts[site.kernel.address] = counts.get(site.kernel.address, 0) + site.calls
        return {address: calls for address, calls in sorted(counts.items()) if calls}

    def reset_launches(self) -> None:
        """Count from zero."""
        for site in self.all():
            site.calls = 0


def bind(config: ModelConfig, weights: Weights, choices: Mapping[str, str], rows: int = 8, context: int = 512) -> Sites:
    """Bind `choices` (site -> kernel address), and references where there is none.

    rows     most rows of a step
    context  most positions of a sequence, which bounds the slots that index scores may cover
    """
    check(choices)
    device = weights.device
    backbone, stages = config.num_hidden_layers, len(weights.stages)

    def at(layer: int, ratio: int, specs: Mapping[str, Spec]) -> At:
        facts = Facts(
            layer=layer,
            ratio=ratio,
            kv_owner=config.kv_owner(layer) if ratio else -1,
            heads=config.num_attention_heads,
            index_heads=config.index_n_heads,
            within_candidates=layer > config.candidate_source_layer_id,
        )
        kernels = {name: _kernel(name, choices) for name in specs}
        sites = {
            name: Site(layer, name, kernel, specs[name], rows, device)
            for name, kernel in kernels.items()
            if kernel is not None
        }
        return At(facts, sites)

    layers = [at(i, config.compress_ratios[i], layer_specs(config, weights, i, rows, context)) for i in range(backbone)]
    staged = [at(i, 0, layer_specs(config, weights, i, rows, context)) for i in range(backbone, backbone + stages)]
    return Sites(
        [*layers, *staged],
        start=at(-1, 0, start_specs(config, weights)),
        end=at(backbone + stages, 0, end_specs(config, weights)),
        drafting=at(backbone + stages + 1, 0, drafting_specs(config, weights)),
    )


def check(choices: Mapping[str, str]) -> None:
    """Refuse a choice at an unknown site, or of a kernel that computes something else."""
    for name, address in choices.items():
        if name not in table():
            raise BadChoice(f"site {name!r} does not exist; there are {', '.join(table())}")
        operation = table()[name]["operation"]
        if address.split("/")[0] != operation:
            raise BadChoice(f"site {name!r} computes {operation}, not {address.split('/')[0]}")
        find(address)


def beside(control: Sites, candidate: Sites, changed: Sequence[str], report: Report) -> Sites:
    """The candidate, with the control's version of each changed site run on the same inputs, into its own buffers.

    After each changed site: `report(layer, site, value name, control tensor, candidate tensor)` an output.
    """
    others = {id(own): other for own, other in zip(_tables(candidate), _tables(control), strict=True)}

    def change(at: At) -> At:
        calls: dict[str, Call] = dict(at.calls)
        for name in changed:
            own, other = at.__dict__.get(name), others[id(at)].__dict__.get(name)
            if own is not None and other is not None:
                calls[name] = _Beside(at.layer, name, other, own, report)
        return At(at.facts, calls)

    start, *layers, end, drafting = (change(at) for at in _tables(candidate))
    return Sites(layers, start, end, drafting)


def _tables(sites: Sites) -> list[At]:
    return [sites.start, *sites._layers, sites.end, sites.drafting]


def _kernel(name: str, choices: Mapping[str, str]) -> Kernel | None:
    """The kernel of a site; none where a coarser site is composed."""
    site = table()[name]
    if name not in choices and site["swallows"]:
        return None
    return find(choices.get(name, f"{site['operation']}/reference"))


class _Observed:
    """A call that shows its outputs."""

    def __init__(self, layer: int, name: str, call: Call, callback: Observe) -> None:
        self.call = call
        self._place = (layer, name)
        self._callback = callback

    def __call__(self, *inputs: Tensor, **sizes: int) -> Any:
        outputs = self.call(*inputs, **sizes)
        for value, tensor in _named(self.call, outputs):
            self._callback(*self._place, value, tensor)
        return outputs


class _Beside:
    """A call that runs its control on the same inputs first."""

    def __init__(self, layer: int, name: str, control: Call, candidate: Call, report: Report) -> None:
        self.call = candidate
        self._place = (layer, name)
        self._control = control
        self._report = report

    def __call__(self, *inputs: Tensor, **sizes: int) -> Any:
        expected = dict(_named(self._control, self._control(*inputs, **sizes)))
        outputs = self.call(*inputs, **sizes)
        for value, tensor in _named(self.call, outputs):
            self._report(*self._place, value, expected[value], tensor)
        return outputs


def _named(call: Call, outputs: Any) -> list[tuple[str, Tensor]]:
    """A call's outputs with their value names."""
    if isinstance(outputs, dict):
        return list(outputs.items())
    site = _bound(call)
    assert site is not None, "only a composed site has no site inside, and it answers by name"
    return list(zip(site.values, outputs if isinstance(outputs, tuple) else (outputs,), strict=True))


def _bound(call: Call) -> Site | None:
    """The site inside whatever has been put around it; none in a composed one."""
    while not isinstance(call, Site | Composed):
        call = call.call  # type: ignore[attr-defined]
    return call if isinstance(call, Site) else None
