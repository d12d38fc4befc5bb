"""The importers of this folder."""

from __future__ import annotations

from workloads.importers.entry import Importer
from workloads.importers.rare import cobalt, flux, gpu_tables, pai, philly

PLUGIN = [
    Importer(
        "cobalt",
        "Cobalt's jobs as the ALCF publishes them (CSV with COBALT_JOBID)",
        cobalt.read_cobalt,
        cobalt.looks_like,
    ),
    Importer(
        "flux",
        "Flux's jobs, as flux jobs -a --json prints them",
        flux.read_flux,
        flux.looks_like,
    ),
    *gpu_tables.TABLES,
    Importer(
        "philly",
        "GPU jobs of Philly (cluster_job_log in JSON), virtual clusters as accounts",
        philly.read_philly,
        philly.looks_like,
    ),
    Importer(
        "pai",
        "GPU jobs of Alibaba's PAI (pai_task_table.csv of cluster-trace-gpu-v2020)",
        pai.read_pai,
        pai.looks_like,
    ),
]
