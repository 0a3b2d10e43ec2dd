# SPDX-License-Identifier: Apache-2.0
"""The workload `helr`: training of logistic regression."""
