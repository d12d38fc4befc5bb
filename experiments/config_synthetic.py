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

from experiments.fields import Count, Number, Positive, Section, Text, TimeRangeS, TimeS, known
from netsim.errors import NetcosimError
from netsim.parameters import ReadIf
from netsim.units import short_name
from workloads.gpu_clusters import GPU_CLUSTERS

_OF_LAAS = ("mean_nodes", "sizes", "run_time_range_s", "median_run_time_s")


class SyntheticSection(Section):
    """``[workload.synthetic]``: see `workloads.synthetic.laas_workload`.

    With ``cluster`` see `workloads.gpu_clusters.gpu_cluster_workload`.
    """

    n_jobs: Count = 1000
    mean_nodes: Annotated[
        Number,
        Field(ge=1),
        ReadIf(("sizes",), lambda sizes: not sizes, "workload.synthetic.sizes is not given"),
    ] = 16.0
    sizes: tuple[Count, ...] = ()
    run_time_range_s: TimeRangeS = (20.0, 3000.0)
    median_run_time_s: TimeS | None = None
    load: Positive | None = None
    requested_factor: tuple[Number, Number] | None = None
    cluster: Annotated[Text | None, known("GPU cluster", GPU_CLUSTERS)] = None

    @model_serializer(mode="wrap")
    def _of_one_generator(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        unused = ("cluster",) if self.cluster is None else _OF_LAAS
        return {key: value for key, value in content.items() if key not in unused}

    @model_validator(mode="after")
    def _one_generator(self) -> SyntheticSection:
        given = [key for key in _OF_LAAS if key in self.model_fields_set]
        if self.cluster is not None and given:
            raise NetcosimError(
                f"{short_name(given[0])} stands beside cluster, which brings sizes and run times"
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
