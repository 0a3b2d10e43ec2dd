# SPDX-License-Identifier: Apache-2.0
"""The process that holds keys and does key switches for engines of other processes."""
