"""`python -m ladder`, the same as `ladder`."""

from ladder.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
