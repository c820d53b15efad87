"""Which profile this machine means, found without torch: a GPU that is there is never silently replaced by the CPU."""

import shutil
import subprocess
from pathlib import Path

from ladder.card import Card
from ladder.errors import BrokenDevice, UnknownProfile

GPU_PROFILE = "h200"
CPU_PROFILE = "cpu"


def choose(card: Card, given: str | None, root: Path = Path("/")) -> str:
    """The profile given, or else the one this hardware means; the card must have it."""
    if given is not None:
        card.profile(given)
        return given
    profile = GPU_PROFILE if has_gpu(root) else CPU_PROFILE
    if profile not in card.profiles:
        raise UnknownProfile(
            f"{card.document.name}: this machine means profile {profile!r}, and the card has only "
            f"{', '.join(card.profiles)}; give --profile to run one of them on purpose"
        )
    return profile


def has_gpu(root: Path = Path("/")) -> bool:
    """Whether an NVIDIA device is here and answers; BrokenDevice when it is here and does not."""
    control, driver = root / "dev" / "nvidiactl", root / "proc" / "driver" / "nvidia"
    if not control.exists() and not driver.exists():
        return False
    missing = [path for path in (control, driver) if not path.exists()]
    if not any(root.glob("dev/nvidia[0-9]*")):
        missing.append(root / "dev" / "nvidia0")
    if missing:
        _refuse(f"{', '.join(map(str, missing))} is missing")
    if root == Path("/") and (tool := shutil.which("nvidia-smi")):
        _ask(tool)
    return True


def _ask(tool: str) -> None:
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        _refuse("nvidia-smi does not answer within 30 s")
    if done.returncode != 0 or "GPU " not in done.stdout:
        _refuse(f"nvidia-smi ends with {done.returncode}")


def _refuse(says: str) -> None:
    raise BrokenDevice(
        f"an NVIDIA device is in this machine but broken: {says}; mend it, or say --profile {CPU_PROFILE} on purpose"
    )
