"""The site's pages in their order; one that is not here fails the build."""

NAV: dict[str, tuple[str, ...]] = {
    "Tutorials": (
        "tutorials/scheduler-researcher",
        "tutorials/network-researcher",
        "tutorials/administrator",
        "tutorials/paper-reader",
    ),
    "Notebooks": (
        "notebooks/first-comparison",
        "notebooks/own-policy",
        "notebooks/isolation-on-your-log",
        "notebooks/learning-agent",
    ),
    "How-to guides": (
        "logs",
        "machines",
        "schedulers",
        "measures",
        "isolation-gain",
        "observables",
        "sweeps",
        "results",
        "curve",
        "live",
        "extend",
        "learning",
        "learning-benchmark",
        "limits",
    ),
    "The models": ("packet-model", "flow-model", "queue", "routers", "threads", "architecture"),
    "Reference": ("config", "reference", "commands", "python"),
    "The papers": (
        "level-spread",
        "fat-tree-papers",
        "blue-gene",
        "interference",
        "partitions",
        "isolation",
    ),
    "How true, how fast": ("validation", "calibration", "speed"),
    "More": ("faq", "/CONTRIBUTING", "/CHANGELOG"),
}
