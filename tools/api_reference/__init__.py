# SPDX-License-Identifier: Apache-2.0
"""Reference pages for the Python API."""
