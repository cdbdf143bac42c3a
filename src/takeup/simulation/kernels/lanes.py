"""Which kernels have a form in SIMD lanes, and when it applies. Lanes and scalars give the same numbers."""

from takeup.simulation.kernels import (
    lane_driver,
    lane_observed,
    lane_proposed,
    lane_two_arm,
    lane_two_by_two,
    observed,
    proposed,
    two_arm,
    two_by_two,
)
from takeup.simulation.kernels.choice import has_small_shapes
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.job import Job


def entry(job: Job) -> tuple[Plain, dict[Plain, Plain]] | None:
    """The lanes' driver and what to bind in it; None where the job has no such form."""
    bind = _bind(job)
    if job.waiting or job.changing or bind is None:
        return None
    if job.shape == (1, 2, 2, 2):
        bind |= {
            lane_driver.table_of: lane_driver.four_table,
            lane_driver.answer_lanes: lane_driver.answer_four,
        }
    return lane_driver.replicate_lanes, bind


def _bind(job: Job) -> dict[Plain, Plain] | None:
    file, levels = job.kernel.file, job.shape[3]
    drawn = levels == 2 and not has_small_shapes(job.parameters)
    if file is proposed and drawn:
        return {}
    if file is observed and drawn:
        return {lane_proposed.propose_lanes: lane_observed.propose_lanes}
    for scalar, lane in ((two_arm, lane_two_arm), (two_by_two, lane_two_by_two)):
        if file is scalar and job.shape[0] == 1:
            return {
                lane_proposed.propose_lanes: lane.propose_lanes,
                lane_driver.learn_lanes: lane.learn_lanes,
            }
    return None
