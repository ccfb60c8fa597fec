"""``python -m hesitant``."""

from hesitant.cli import main

if __name__ == "__main__":
    main()
