"""All methods that take part, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.contest import boosting, scikit, tabular_networks
from benchmarks.contest.conformal import CvPlus
from benchmarks.contest.forecast import Model
from benchmarks.contest.forests import QuantileForest
from benchmarks.contest.ours import ESTIMATORS, nets


@dataclass(frozen=True)
class Method:
    """``make`` gives an unfitted model for a seed. It imports the library, so that only the methods that run need theirs."""

    packages: tuple[str, ...]  # names that pip knows
    make: Callable[[int], Model]

    @property
    def missing(self) -> list[str]:
        return [package for package in self.packages if find_spec(_module(package)) is None]

    @property
    def versions(self) -> dict[str, str]:
        return {package: version(package) for package in self.packages}


def _module(package: str) -> str:
    """The name that Python imports."""
    return {"scikit-learn": "sklearn"}.get(package, package.replace("-", "_"))


def _ours() -> dict[str, Method]:
    return {name: Method(("extranets",), partial(nets, make)) for name, make in ESTIMATORS.items()}


METHODS: dict[str, Method] = {
    **_ours(),
    "ExtraTrees": Method(("scikit-learn",), lambda seed: scikit.Points(scikit.extra_trees(seed))),
    "HistGradientBoosting": Method(("scikit-learn",), lambda seed: scikit.Points(scikit.gradient_boosting(seed))),
    "MLP": Method(("scikit-learn",), lambda seed: scikit.Points(scikit.scaled_network(seed))),
    "CatBoost": Method(("catboost",), lambda seed: scikit.Points(boosting.catboost(seed))),
    "CatBoost with uncertainty": Method(("catboost",), boosting.UncertainCatBoost),
    "NGBoost": Method(("ngboost",), boosting.NGBoost),
    "quantile-forest": Method(("quantile-forest",), QuantileForest),
    "RealMLP": Method(("pytabkit",), tabular_networks.real_mlp),
    "TabM": Method(("pytabkit",), tabular_networks.tab_m),
    "MAPIE CV+, HistGradientBoosting": Method(("mapie",), lambda seed: CvPlus(scikit.gradient_boosting(seed), seed)),
    "MAPIE CV+, CatBoost": Method(("mapie", "catboost"), lambda seed: CvPlus(boosting.catboost(seed), seed)),
    "MAPIE CV+, MLP": Method(("mapie",), lambda seed: CvPlus(scikit.scaled_network(seed), seed)),
}
