# SPDX-License-Identifier: Apache-2.0
"""Circuits."""


class Circuits:
    pass
