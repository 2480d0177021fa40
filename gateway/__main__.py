"""``python -m checkvalve.gateway`` is the command ``checkvalve``.

Guarantees: once this file runs, nothing is imported from the working folder, where an agent may write. A folder there
that is itself called ``checkvalve`` comes before it: start Python with ``-P``, or use the command.
"""

import os
import sys

_HERE = os.path.realpath(os.curdir)
if not sys.flags.safe_path:
    del sys.path[0]  # with -m, it is the working folder
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _HERE]  # nor by PYTHONPATH=:

from checkvalve.gateway.cli import main  # noqa: E402  # only now

if __name__ == "__main__":
    main()
