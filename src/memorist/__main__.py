"""`python -m memorist` is the command line."""

from memorist.cli.main import main

if __name__ == "__main__":
    main()
