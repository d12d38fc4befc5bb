"""The importers of this folder."""

from __future__ import annotations

from workloads.importers.entry import Importer
from workloads.importers.rare import acme, cobalt, flux

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
    Importer(
        "acme",
        "jobs of GPU clusters as AcmeTrace publishes them (trace_seren.csv, trace_kalos.csv)",
        acme.read_acme,
        acme.looks_like,
    ),
]
