"""A table whose names try to run."""

import numpy as np
import pandas as pd

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    r"$\bad{x$",
    "=cmd()",
)
LABELS = ("<b onmouseover=alert(1)>no</b>", "=1+1</script><script>alert(2)</script>")


def hostile_frame(n=60, p=40, seed=0):
    """A table whose informative columns, classes and identifiers are attacks."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % 2)
    frame = pd.DataFrame({f"noise {j}": generator.normal(size=n) for j in range(p)})
    for position, name in enumerate(HOSTILE):
        frame.insert(position, name, y + generator.normal(0, 0.6, n))
    frame.insert(0, "group <i>", np.where(y + generator.normal(0, 1, n) > 0.5, HOSTILE[1], "b&<"))
    frame["<svg onload=alert(3)>"] = np.array(LABELS)[y]
    frame["name"] = [f"={i}'\"<img src=y onerror=alert(4)>\u202e" for i in range(n)]
    return frame
