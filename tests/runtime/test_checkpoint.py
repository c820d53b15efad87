"""Checkpoint folders: what is read is what was written, and everything else is refused by name."""

import json
import shutil
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from runtime import checkpoint
from runtime.checkpoint import load, write
from runtime.config import ModelConfig, named
from runtime.errors import BadCheckpoint, RuntimeFault
from runtime.tensors import expected

PUBLISHED = Path(__file__).parent.parent / "data" / "M01"
WEIGHT = "layers.0.attn.wq_a.weight"


@lru_cache
def published() -> tuple[ModelConfig, dict[str, torch.Tensor], torch.Tensor]:
    tokens = json.loads((PUBLISHED / "tokens.json").read_text())
    return (
        ModelConfig.read(PUBLISHED / "config.json"),
        load_file(PUBLISHED / "model.safetensors"),
        torch.tensor(tokens["token_map"]),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The published checkpoint as one file, as it came, with its token map beside it."""
    token_map = published()[2]
    for name in ("config.json", "model.safetensors"):
        shutil.copy(PUBLISHED / name, tmp_path / name)
    (tmp_path / "token_map.json").write_text(json.dumps(token_map.tolist()))
    return tmp_path


def changed(folder: Path, **tensors: torch.Tensor | None) -> Path:
    """The same folder with some tensors put in another's place or taken out."""
    whole = {**published()[1], **{name.replace("__", "."): tensor for name, tensor in tensors.items()}}
    save_file({name: t for name, t in whole.items() if t is not None}, folder / "model.safetensors")
    return folder


def refused(folder: Path, says: str) -> None:
    with pytest.raises(RuntimeFault, match=says) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_a_published_file_is_read_and_its_vision_bias_passed_over(folder):
    loaded = load(folder)
    assert set(loaded.tensors) == set(expected(loaded.config, draft=False))
    assert "layers.0.ffn.gate.bias_vl" in published()[1]


def test_shards_hold_the_same_as_one_file(folder, tmp_path):
    whole = load(folder)
    write(tmp_path / "sharded", whole.config, whole.token_map, whole.tensors.items(), shard_bytes=200_000)
    assert len(list((tmp_path / "sharded").glob("model-*-of-*.safetensors"))) > 3
    sharded = load(tmp_path / "sharded")
    assert sharded.digest == whole.digest
    assert all(torch.equal(sharded.tensors[n].view(torch.uint8), t.view(torch.uint8)) for n, t in whole.tensors.items())


def test_the_digest_knows_every_value(folder):
    before = load(folder).digest
    sink = published()[1]["layers.3.attn.attn_sink"].clone()
    sink[0] = torch.nextafter(sink[0], torch.tensor(9.0))
    assert load(changed(folder, layers__3__attn__attn_sink=sink)).digest != before


def test_a_missing_tensor_is_named(folder):
    refused(changed(folder, layers__2__attn__kv_norm__weight=None), r"missing layers\.2\.attn\.kv_norm\.weight")


def test_a_tensor_too_many_is_named(folder):
    refused(
        changed(folder, layers__0__attn__bias=torch.zeros(3)),
        r"not a tensor of this configuration: layers\.0\.attn\.bias",
    )


def test_a_part_of_the_draft_asks_for_the_rest(folder):
    refused(changed(folder, mtp__0__main_norm__weight=torch.ones(64).bfloat16()), r"missing mtp\.0\.")


def test_another_shape_is_named_with_the_right_one(folder):
    wrong = published()[1][WEIGHT][:-1].contiguous()
    refused(changed(folder, **{WEIGHT: wrong}), r"wq_a\.weight: of shape \[31, 64\], not \[32, 64\]")


def test_another_type_is_named_with_the_right_one(folder):
    refused(changed(folder, **{WEIGHT: torch.zeros(32, 64).bfloat16()}), "wq_a.weight: stored as BF16, not F8_E4M3")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "layers.0.ffn.experts.3.w1.scale",
            r"experts\.3\.w1\.scale: 1 of its entries are not a number \(scale 0xFF\), the first at 5",
        ),
        (WEIGHT, r"wq_a\.weight: 1 of its entries are not a number \(E4M3 code"),
    ],
)
def test_a_code_that_is_no_number_is_refused(folder, name, says):
    wrong = published()[1][name].clone()
    wrong.view(torch.uint8).flatten()[5] = 255
    refused(changed(folder, **{name: wrong}), says)


def test_an_infinite_weight_is_refused(folder):
    norm = published()[1]["norm.weight"].clone()
    norm[7] = float("inf")
    refused(
        changed(folder, norm__weight=norm), r"norm\.weight: 1 of its entries are not a number \(value\), the first at 7"
    )


def test_half_a_file_is_refused(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])
    refused(folder, "model.safetensors: not a whole safetensors file")


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("{", "not JSON"),
        ("[]", "must hold a JSON dict"),
        ("{}", "has no weight_map"),
        ('{"weight_map": {"norm.weight": "../other.safetensors"}}', "not a safetensors file's name"),
        ('{"weight_map": {"norm.weight": "model-00001-of-00002.safetensors"}}', "no such file, though"),
    ],
)
def test_a_bad_index_is_refused(folder, index, says):
    (folder / checkpoint.INDEX).write_text(index)
    refused(folder, says)


def test_an_index_that_misplaces_a_tensor_is_refused(folder):
    weight_map = dict.fromkeys([*published()[1], "norm.weight"], "model.safetensors")
    held = {name: t for name, t in published()[1].items() if name != "norm.weight"}
    save_file(held, folder / "model.safetensors")
    (folder / checkpoint.INDEX).write_text(json.dumps({"weight_map": weight_map}))
    refused(folder, r"does not hold norm\.weight, though")


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([0] * 5, "holds 5 ids for a vocabulary of 256"),
        ([0] * 255 + [168], "token 255 maps to 168"),
        ([True] * 256, "token 0 maps to True"),
    ],
)
def test_a_bad_token_map_is_refused(folder, ids, says):
    (folder / "token_map.json").write_text(json.dumps(ids))
    refused(folder, says)


def test_a_folder_that_holds_nothing_is_said(tmp_path):
    refused(tmp_path / "nowhere", "no such folder; `ladder checkpoint make tiny FOLDER` writes one")
    refused(tmp_path, "config.json: no such file")


def test_a_folder_is_never_written_over(tmp_path):
    with pytest.raises(BadCheckpoint, match="exists already"):
        write(tmp_path, named("tiny"), torch.zeros(512), [])
