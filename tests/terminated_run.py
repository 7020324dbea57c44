"""Run chains that take long, with a checkpoint, until somebody ends the process."""

import sys
import time

import numpy as np

from honestbayes.files.fields import Floats
from honestbayes.sampling.chains import Form, Schedule
from honestbayes.sampling.runs import Sampling, sample

SCHEDULE = Schedule(5, 1_000_000)


class Walk:
    """A random walk, a step of which takes some milliseconds."""

    def __init__(self, pause=0.0):
        self.pause = pause

    def step(self, rng, state):
        time.sleep(self.pause)
        x = state["x"] + rng.normal(size=2)
        return {"x": x}, {"x": x}

    def form(self):
        drawn = Floats("n_chains", "n_draws", 2)
        return Form(state={"x": Floats("n_chains", 2)}, drawn={"x": drawn})


def run(checkpoint, schedule=SCHEDULE, pause=0.0, *, verbose=False):
    """Sample, from the checkpoint where there is one."""
    sampling = Sampling(
        schedule, 2, np.random.SeedSequence(0), checkpoint=checkpoint, verbose=verbose
    )
    return sample(Walk(pause), lambda _: [{"x": np.zeros(2)} for _ in range(2)], sampling)


if __name__ == "__main__":
    run(sys.argv[1], pause=0.005, verbose=True)
