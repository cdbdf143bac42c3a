"""What importing takeup costs beyond numpy and scipy.special: fresh processes, interleaved."""

import statistics
import subprocess
import sys
import time

ROUNDS = 15


def seconds(code: str) -> float:
    """The time of one fresh process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Print the medians and the difference with its spread."""
    pairs = [(seconds("import numpy, scipy.special"), seconds("import takeup")) for _ in range(ROUNDS)]
    extra = sorted(takeup - base for base, takeup in pairs)
    print(f"numpy and scipy.special {statistics.median(base for base, _ in pairs):.3f} s")
    print(f"takeup beyond them      {statistics.median(extra):.3f} s (from {extra[0]:.3f} to {extra[-1]:.3f})")


if __name__ == "__main__":
    main()
