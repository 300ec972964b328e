"""`python -m shiplift`: the command, where no script is installed."""

from shiplift.cli import main

if __name__ == "__main__":
    main()
