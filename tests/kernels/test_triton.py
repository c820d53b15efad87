"""Kernels in Triton: interpreted on every case, compiled for every architecture, and absent without an error.

Each runs in a process of its own, since Triton reads its environment when it is imported.
"""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.address import addresses, find, operations
from tests.kernels.trial import cases, is_triton

ROOT = Path(__file__).parent.parent.parent
KERNELS = [address for operation in operations() for address in addresses(operation) if is_triton(address)]
TARGETS = {"sm_90a", "sm_100a", "sm_103a", "sm_120a"}


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("TRITON_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_every_kernel_keeps_its_claim_under_the_interpreter():
    """tests/kernels/test_kernels.py once more, in a process in which its kernels are those in Triton."""
    done = python("-m", "pytest", "-x", "tests/kernels/test_kernels.py", TRITON_INTERPRET="1")
    tried = sum(len(cases(address.split("/")[0])) for address in KERNELS)
    assert done.returncode == 0, done.stdout[-6000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) >= 3 * tried


@functools.cache
def compiled() -> list[dict[str, object]]:
    done = python("-m", "tests.kernels.compiled")
    assert done.returncode == 0, done.stderr[-6000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_kernel_compiles_for_every_architecture():
    built = {(each["address"], each["target"]) for each in compiled() if each["entry"] and each["cubin_bytes"]}
    assert built == {(address, target) for address in KERNELS for target in TARGETS}


def test_no_operation_is_fused_or_approximate_where_bits_are_claimed():
    """The interpreter cannot show this: a fused multiply-add rounds once where the reference rounds twice."""
    told = {(each["address"], each["function"], *each["inexact"]) for each in compiled() if each["inexact"]}
    assert [each for each in sorted(told) if find(each[0]).claim == "bits"] == []


def test_an_operation_that_is_fused_or_approximate_is_told():
    """Negative control: the same launches without what forbids it."""
    code = (
        "from tests.kernels.compiled import compiled, first_launches, inexact\n"
        "function, arguments, options = next(first_launches({'linear/triton_in_order'}))[1]\n"
        "print(inexact(compiled((function, arguments, options | {'enable_fp_fusion': True}), 90)))"
    )
    assert "fma.rn.f32" in python("-c", code).stdout


WITHOUT_TRITON = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "triton": raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "triton" else real(name, package)
"""


@pytest.mark.parametrize("address", KERNELS[:1])
def test_without_triton_a_kernel_is_listed_and_read_but_naming_it_says_which_extra_brings_it(address):
    operation, name = address.split("/")
    code = WITHOUT_TRITON + (
        f"from kernels.address import MissingLibrary, addresses, find; assert {address!r} in addresses({operation!r})\n"
        f"import kernels.{operation}.{name} as module; assert 'Source: ' in module.run.__doc__\n"
        f"try: find({address!r})\nexcept MissingLibrary as error: print(error)"
    )
    done = python("-c", code)
    assert "needs triton" in done.stdout and "'.[gpu]'" in done.stdout, done.stderr


def test_triton_is_not_imported_until_a_kernel_in_it_is_named():
    code = (
        "import sys; from kernels.address import addresses, find, operations\n"
        "[addresses(name) for name in operations()]; find('rmsnorm/reference'); print('triton' in sys.modules)\n"
        "find('rmsnorm/triton_row'); print('triton' in sys.modules)"
    )
    assert python("-c", code).stdout.split() == ["False", "True"]
