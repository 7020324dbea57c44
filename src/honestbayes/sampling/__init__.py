"""Markov chains: kernels, a runner, checkpoints and diagnostics.

A kernel is an object with one method, ``step(rng, state) -> (state, info)``: one sweep over all
that is sampled. It changes nothing that it was given but the generator. The runner knows no models,
and kernels know nothing of chains, draws or files.
"""
