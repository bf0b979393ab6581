"""When messages go out: the second of the notifier's two folds, one for each channel, over all jobs."""
