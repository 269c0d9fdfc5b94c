"""`python -m crossmodal` is the command line."""

from crossmodal.cli import main

if __name__ == "__main__":
    main()
