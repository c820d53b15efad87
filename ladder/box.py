"""The machine as it is found: its class, its software and its present condition, and nothing that names its owner."""

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

Facts = dict[str, str | int | bool | None]
PROC, SYS = Path("/proc"), Path("/sys/devices/system/cpu/cpu0/cpufreq")


def machine(proc: Path = PROC) -> Facts:
    """What makes boxes one class: processor, cores this process may use, memory in GiB; the same for every arm."""
    return {
        "arch": platform.machine(),
        "cpu_model": _cpu_model(proc) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": _memory_gib(proc),
        "governor": _text(SYS / "scaling_governor"),
        "turbo": _turbo(),
    }


def software(packages: tuple[str, ...] = ()) -> Facts:
    """Versions of the system, of Python, and of these installed packages."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        **{name: version(name) for name in packages},
    }


def conditions() -> Facts:
    """What may differ from arm to arm: load averages in thousandths, the clock in kHz, free memory in MiB."""
    return {
        "load_1m_milli": round(os.getloadavg()[0] * 1000),
        "load_5m_milli": round(os.getloadavg()[1] * 1000),
        "frequency_khz": _integer(SYS / "scaling_cur_freq"),
        "free_mib": _meminfo(PROC, "MemAvailable"),
    }


def version(package: str) -> str | None:
    """The installed version of a distribution, without importing it; None when there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model(proc: Path) -> str | None:
    for line in (_text(proc / "cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Hardware", "cpu model"} and value.strip():
            return " ".join(value.split())
    return None


def _memory_gib(proc: Path) -> int | None:
    total_mib = _meminfo(proc, "MemTotal")
    return None if total_mib is None else round(total_mib / 1024)


def _meminfo(proc: Path, key: str) -> int | None:
    for line in (_text(proc / "meminfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) // 1024
    return None


def _turbo() -> bool | None:
    off = _integer(SYS.parents[1] / "intel_pstate" / "no_turbo")
    boost = _integer(SYS.parents[1] / "cpufreq" / "boost")
    return not off if off is not None else bool(boost) if boost is not None else None


def _integer(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text and text.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
