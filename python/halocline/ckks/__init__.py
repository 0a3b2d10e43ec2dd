# SPDX-License-Identifier: Apache-2.0
"""Parameters, keys, ciphertexts and the client."""
