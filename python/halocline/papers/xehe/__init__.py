# SPDX-License-Identifier: Apache-2.0
"""XeHE: SEAL on GPUs."""
