"""``[workload]``: a log or a generator of jobs, and what is done to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from netcosim.config.fields import (
    Count,
    DeclaredSection,
    InputFile,
    Number,
    Positive,
    Section,
    Text,
    TimeRangeS,
    TimeS,
    declared_by,
    known,
)
from netsim.errors import NetcosimError, unknown_name
from netsim.parameters import ReadIf, parameters_of
from netsim.units import short_name
from workloads.registry import LOGS, read_published
from workloads.source import JobSource

_OF_LAAS = ("mean_nodes", "sizes", "run_time_range_s", "median_run_time_s")


class SyntheticSection(Section):
    """``[workload.synthetic]``: see `workloads.synthetic.laas_workload`.

    With ``cluster`` see `workloads.gpu_clusters.gpu_cluster_workload`.
    """

    n_jobs: Count = Field(default=1000, description="number of jobs generated", examples=[500])
    mean_nodes: Annotated[
        Number,
        Field(ge=1),
        ReadIf(("sizes",), lambda sizes: not sizes, "workload.synthetic.sizes is not given"),
    ] = Field(default=16.0, description="mean size of a job", examples=[4.5])
    sizes: tuple[Count, ...] = Field(
        default=(),
        description="the only job sizes, each half as frequent as the one before",
        examples=[[4, 8, 16]],
    )
    run_time_range_s: TimeRangeS = Field(
        default=(20.0, 3000.0),
        description="shortest and longest run time",
        examples=[["1 min", "1 h"]],
    )
    median_run_time_s: TimeS | None = Field(
        default=None,
        description="median of log-normal run times (deviation 1 in the logarithm), clipped to "
        "run_time_range",
        examples=["10 min"],
    )
    load: Positive | None = Field(
        default=None,
        description="offered load: utilization of the machine that the arrival rate is set for; if "
        "left out, all jobs arrive at 0",
        examples=[0.9],
    )
    requested_factor: tuple[Number, Number] | None = Field(
        default=None,
        description="range of the uniform factor, at least 1, from run time to requested time; the "
        "run time itself if left out",
        examples=[[1.0, 2.0]],
    )
    cluster: Annotated[Text | None, known("GPU cluster", read_published()["gpu_clusters"])] = Field(
        default=None,
        description="generate jobs with the published sizes and run times of this GPU cluster",
        examples=["kalos"],
    )

    def idle(self) -> Collection[str]:
        """Return the keys of the other generator."""
        return ("cluster",) if self.cluster is None else _OF_LAAS

    @model_validator(mode="after")
    def _one_generator(self) -> SyntheticSection:
        given = [key for key in _OF_LAAS if key in self.model_fields_set]
        if self.cluster is not None and given:
            raise NetcosimError(
                f"{short_name(given[0])} conflicts with cluster, which has sizes and run times"
            )
        return self

    @field_validator("n_jobs")
    @classmethod
    def _few_enough(cls, n_jobs: int) -> int:
        from workloads.synthetic import job_count_error

        wrong = job_count_error(n_jobs)
        if wrong is not None:
            raise NetcosimError(wrong)
        return n_jobs


@declared_by(JobSource)
class WorkloadSection(DeclaredSection):
    """``[workload]``: a log or a generator, and what is done to its jobs.

    Its other keys are what `workloads.source.JobSource` declares.
    """

    added = ("size_unit", "bad_lines", "default_limit_s", "missing_limits")
    synthetic: SyntheticSection | None = None

    @field_validator("known_log", check_fields=False)
    @classmethod
    def _known_log(cls, name: str | None) -> str | None:
        if name is not None and name not in LOGS:
            raise unknown_name("job log", name, LOGS)
        return name

    @field_validator("month", check_fields=False)
    @classmethod
    def _calendar_month(cls, month: str | None) -> str | None:
        if month is not None and not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month):
            raise NetcosimError(f'{month!r}; must be a year and a month, "2018-10"')
        return month

    def made(self) -> JobSource:
        """Return the source of the jobs, whatever the log now holds."""
        return self.source(lambda log: log.file)

    def source(self, path_of: Callable[[InputFile], str] = InputFile.checked) -> JobSource:
        """Return the source of the requested jobs, with ``path_of(file)`` for its log."""
        given = {name: getattr(self, name) for name in parameters_of(JobSource)}
        log: InputFile | None = given["log"]
        if log is not None:
            given |= {"log": path_of(log), "log_sha256": log.sha256}
        synthetic = None if self.synthetic is None else self.synthetic.model_dump()
        return JobSource(**given, synthetic=synthetic)
