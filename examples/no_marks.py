"""A job that gives no marks at all: keepstep knows only that its processes live."""

import argparse
import os
import time


def main() -> None:
    """Work for a while."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    rank = os.environ.get("RANK", "0")
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        print(f"rank {rank} works", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
