# SPDX-License-Identifier: Apache-2.0
"""Parameters chosen for a program, and programs on numbers with the noise of encryption."""
