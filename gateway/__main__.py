"""``python -m checkvalve.gateway`` is the command ``checkvalve``."""

from checkvalve.gateway.cli import main

if __name__ == "__main__":
    main()
