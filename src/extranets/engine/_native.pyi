from collections.abc import Callable
from typing import Any

class Options:
    seed: int

class Encoding:
    def __init__(self, kind: int, columns: Any, first: Any, numbers: Any) -> None: ...

class Packed:
    def __init__(
        self, n_inputs: int, n_outputs: int, n_heads: int, widths: Any, parameters: Any, encoding: Encoding | None
    ) -> None: ...
    def set_passes(self, pass_ids: list[int], dropout_keep: float, input_keep: float, seed: int) -> None: ...
    def forward(self, X: Any, out: Any, n_threads: int) -> None: ...
    def moments(self, X: Any, mean: Any, variance: Any, mean_variance: Any, n_threads: int) -> None: ...
    def jacobian(self, X: Any, head: int, out: Any, n_threads: int) -> None: ...

class Training:
    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any,
        adversarial: Any,
        counts: Any,
        count_rows: Any,
        members: Any,
        widths: Any,
        offsets: Any,
        encoding: Encoding | None,
        options: Options,
        parameters: Any,
        loss_curve: Any,
        scalars: Any,
        integers: Any,
        first: Any = None,
        second: Any = None,
        stretches: Any = None,
    ) -> None: ...

def train_all(trainings: list[Training], n_threads: int, progress: Callable[[float], object] | None) -> None: ...
def train_variational(
    X: Any,
    y: Any,
    weight: Any,
    counts: Any,
    count_rows: Any,
    members: Any,
    widths: Any,
    offsets: Any,
    options: Options,
    mean: Any,
    std: Any,
    noise_variance: Any,
    prior_variance: Any,
    loss_curve: Any,
    outcomes: Any,
    graves: bool,
    n_threads: int,
    progress: Callable[[float], object] | None,
) -> None: ...
def pbp_train(
    X: Any,
    y: Any,
    weight: Any,
    counts: Any,
    count_rows: Any,
    members: Any,
    targets: Any,
    hidden: Any,
    n_passes: int,
    seed: int,
    mean: Any,
    variance: Any,
    noise: Any,
    prior: Any,
    n_threads: int,
    progress: Callable[[float], object] | None,
) -> None: ...
def pbp_moments(
    hidden: Any, weight_mean: Any, weight_variance: Any, X: Any, mean: Any, variance: Any, n_threads: int
) -> None: ...
def gradient(
    X: Any,
    y: Any,
    weight: Any,
    widths: Any,
    parameters: Any,
    encoding: Encoding | None,
    options: Options,
    out: Any,
) -> float: ...
def random_words(seed: int, member: int, purpose: int, attempt: int, part: int, out: Any) -> None: ...
def random_normals(seed: int, member: int, purpose: int, attempt: int, part: int, out: Any) -> None: ...
def built_variants() -> list[str]: ...
def usable_variants() -> list[str]: ...
def use_variant(name: str) -> None: ...
def active_variant() -> str: ...
def fma_peak(seconds: float) -> float: ...
def compiler() -> str: ...
