"""How far two kernels' outputs are apart on the same inputs, gathered over many calls."""

from dataclasses import dataclass, field
from typing import Any

from gates import distance

Message = dict[str, Any]


@dataclass
class Apart:
    """Counts of equal and unlike elements, by distance, and the first unlike one."""

    compared: int = 0
    differing: int = 0
    max_ulp: int | None = 0
    histogram: dict[str, int] = field(default_factory=dict)
    first: Message | None = None
    unlike: str | None = None
    nonfinite: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, control: Any, dtype: str | None, candidate: Any, candidate_dtype: str | None, where: Message) -> None:
        """Compare two arrays' bits [R, ...], unsigned integers of equal shape; `dtype` None for what has no ulp."""
        ours, theirs = (_form(*each) for each in ((control, dtype), (candidate, candidate_dtype)))
        if ours != theirs:
            self.unlike = self.unlike or f"{where.get('value', 'the output')} is {theirs}, the control's {ours}"
            self._all_apart(control)
            return
        if dtype:
            for side, array in enumerate((control, candidate)):
                self.nonfinite[side] += distance.count_nonfinite(array, dtype)
        if (control == candidate).all():
            self._count("0", control.size)
            self.compared += int(control.size)
        else:
            self._some_apart(control, candidate, dtype, where)

    def told(self) -> Message:
        """As a receipt tells it."""
        return {
            "compared": self.compared,
            "differing": self.differing,
            "max_ulp": self.max_ulp,
            "histogram": dict(self.histogram),
            "first": self.first,
            "nonfinite": self.nonfinite,
            **({"unlike": self.unlike} if self.unlike else {}),
        }

    def _some_apart(self, control: Any, candidate: Any, dtype: str | None, where: Message) -> None:
        found = distance.compare(control, candidate, dtype) if dtype else _counted(control, candidate)
        self.compared += found["compared"]
        self.differing += found["differing"]
        for name, count in found["histogram"].items():
            self._count(name, count)
        if self.max_ulp is not None:
            self.max_ulp = None if found["max_ulp"] is None else max(self.max_ulp, found["max_ulp"])
        if self.first is None and found["first"] is not None:
            self.first = {**where, **_place(control, candidate, found["first"])}

    def _all_apart(self, control: Any) -> None:
        """Another shape or number format: nothing of it can be equal."""
        self.compared += int(control.size)
        self.differing += int(control.size)
        self.max_ulp = None
        self._count("nan", control.size)

    def _count(self, name: str, count: int) -> None:
        self.histogram[name] = self.histogram.get(name, 0) + int(count)


def _form(array: Any, dtype: str | None) -> str:
    return f"{dtype or f'{array.dtype.itemsize}-byte'} {list(array.shape)}"


def _counted(control: Any, candidate: Any) -> Message:
    """Of whole numbers and truth values, which are equal or not."""
    unlike = (control != candidate).ravel().nonzero()[0]
    size, count = int(control.size), len(unlike)
    histogram = {"0": size - count, "nan": count}
    first = int(unlike[0]) if count else None
    return {"compared": size, "differing": count, "max_ulp": None, "histogram": histogram, "first": first}


def _place(control: Any, candidate: Any, flat: int) -> Message:
    """Row and element of a flat index, and both values as hex, most significant digit first."""
    row_size = control[0].size
    digits = 2 * control.dtype.itemsize
    return {
        "row": flat // row_size,
        "element": flat % row_size,
        "control": f"{int(control.flat[flat]):0{digits}x}",
        "candidate": f"{int(candidate.flat[flat]):0{digits}x}",
    }
