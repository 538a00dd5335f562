"""The machine of a result."""

import datetime
import os
import pathlib
import platform
import re
import subprocess


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {"processor": model.group(1) if model else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "commit": commit.stdout.strip(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
