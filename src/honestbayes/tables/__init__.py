"""Reading, checking and encoding of user tables."""

import lazy_loader

# Names are imported when they are first asked for: __init__.pyi says where from.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
