"""Processor time and memory of a server's start, with and without the packages that sqlite-utils would import.

Run: python -m benchmarks.server_start
"""

import statistics
import subprocess
import sys

import click

ROUNDS = 9
PROGRAMS = {
    "as it is": "import server.app",
    "with pandas and numpy": "import pandas, numpy, server.app",
}
_USED = (
    "\nimport resource, time; used = resource.getrusage(resource.RUSAGE_SELF)"
    "\nprint(time.process_time(), used.ru_maxrss / 1024)"
)


def main() -> None:
    """Print the median of each program's processor time and memory, and the ratios."""
    found: dict[str, list[list[float]]] = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, program in PROGRAMS.items():
            command = [sys.executable, "-c", program + _USED]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found[name].append([float(number) for number in printed.split()])
    medians = {name: [statistics.median(values) for values in zip(*rows, strict=True)] for name, rows in found.items()}
    for name, (cpu_s, memory_mb) in medians.items():
        click.echo(f"{name}: {cpu_s:.2f} CPU s, {memory_mb:.0f} MiB")
    ours, others = medians.values()
    click.echo(f"ratio: {ours[0] / others[0]:.2f} of the processor time, {ours[1] / others[1]:.2f} of the memory")


if __name__ == "__main__":
    main()
