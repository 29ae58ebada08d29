"""`python -m holdfastdb`: the same as the command `holdfast`."""

from holdfastdb.cli import main

if __name__ == "__main__":
    main()
