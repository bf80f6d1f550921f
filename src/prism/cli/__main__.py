"""`python -m prism.cli`."""

from prism.cli.process import main

if __name__ == "__main__":
    main()
