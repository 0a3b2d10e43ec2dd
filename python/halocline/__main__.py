# SPDX-License-Identifier: Apache-2.0
"""`python -m halocline` is the command `halocline`."""

from .cli import main

if __name__ == "__main__":
    main()
