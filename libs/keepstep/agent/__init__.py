"""The sidecar of one task: steers the launcher by the plan, watches the ranks, and says what it saw.

It never blocks training: kill it and the ranks run on, freeze the ranks and it tells. Pure rooms (reconcile, fence,
stalls, first_step, beats, frames, checkpoints' judgement) hold the rules; app, steering and watching do the I/O.
"""
