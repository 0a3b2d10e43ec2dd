# SPDX-License-Identifier: Apache-2.0
"""Runs that begin without their keys in the memory of the device."""
