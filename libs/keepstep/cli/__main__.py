"""``python -m keepstep.cli``: the same as the ``keepstep`` command."""

from keepstep.cli.main import main

if __name__ == "__main__":
    main()
