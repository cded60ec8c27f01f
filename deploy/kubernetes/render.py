"""Write the manifests of this folder: what Helm makes of the chart in deploy/helm.

python deploy/kubernetes/render.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import helm_python as helm

FOLDER: Final = Path(__file__).parent
CHART: Final = FOLDER.parent / "helm" / "firesteel"

#: The values of each manifest.
MANIFESTS: Final[dict[str, dict[str, Any]]] = {
    "session.yaml": {},
    "application.yaml": {"mode": "application", "application": {"program": "/opt/program/main.py"}},
}
HEAD: Final = "# Made of the chart in deploy/helm by deploy/kubernetes/render.py (docs/deployment.md).\n"


def render(values: dict[str, Any], *, name: str = "firesteel", revision: int = 1) -> str:
    """Return the objects of a release in the namespace ``default``, as one text.

    :raises helm.HelmError: the values do not fit the chart.
    """
    with helm.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        made = chart.render(values, name=name, namespace="default", revision=revision)
    objects = (text.strip() for path, text in sorted(made.items()) if not path.endswith(".txt"))
    return "".join(f"---\n{text}\n" for text in objects if text)


if __name__ == "__main__":
    for file, values in MANIFESTS.items():
        (FOLDER / file).write_text(HEAD + render(values))
