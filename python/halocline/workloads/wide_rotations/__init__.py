# SPDX-License-Identifier: Apache-2.0
"""The workload `wide-rotations`: many rotation keys in an irregular order."""
