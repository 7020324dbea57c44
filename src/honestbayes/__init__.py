"""honestbayes: calibrated class probabilities after feature selection."""

from importlib.metadata import PackageNotFoundError, version

import lazy_loader

# Names are imported when they are first asked for, so that commands answer at once:
# __init__.pyi says where from.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

try:
    __version__ = version("honestbayes")
except PackageNotFoundError:  # imported from a source tree that was not installed
    __version__ = "0+unknown"
