"""A kernel is found by its address alone, and a wrong address is answered with what there is."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import kernels
from kernels.address import UnknownKernel, addresses, find, operations

HERE = Path(kernels.__file__).parent


def test_the_folder_is_the_registry():
    assert addresses("rmsnorm") == ["rmsnorm/reference", "rmsnorm/torch_split", "rmsnorm/triton_row"]
    assert {path.parent.name for path in HERE.glob("*/__init__.py")} == set(operations())


def test_a_kernel_carries_the_digest_of_its_file():
    source = (HERE / "rmsnorm" / "torch_split.py").read_bytes()
    assert find("rmsnorm/torch_split").source_sha256 == sha256(source).hexdigest()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (
            "rmsnorm/torch_fast",
            "no file kernels/rmsnorm/torch_fast.py; there are rmsnorm/reference, rmsnorm/torch_split",
        ),
        ("norm/reference", "there are none; operations are add, attend"),
        ("rmsnorm", "is not an address; write operation/kernel"),
        ("../runtime/reference", "is not an address"),
        ("rmsnorm/cases", "is not an address"),
    ],
)
def test_a_wrong_address_is_answered_with_what_there_is(address, says):
    with pytest.raises(UnknownKernel, match=says.replace(".", r"\.")):
        find(address)


def test_nothing_is_imported_until_it_is_named():
    code = (
        "import sys; from kernels.address import addresses; addresses('rmsnorm');"
        "print('torch' in sys.modules, any(name.startswith('kernels.rmsnorm') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False"], done.stderr
