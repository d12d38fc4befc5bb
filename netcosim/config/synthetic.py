"""Jobs that no log gives: the section ``[workload.synthetic]``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from netcosim.config.fields import Count, Number, Positive, Section, Text, TimeRangeS, TimeS, known
from netsim.errors import NetcosimError
from netsim.parameters import ReadIf
from netsim.units import short_name
from workloads.registry import read_published

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

    @model_serializer(mode="wrap")
    def _content(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        unused = ("cluster",) if self.cluster is None else _OF_LAAS
        return {key: value for key, value in content.items() if key not in unused}

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
