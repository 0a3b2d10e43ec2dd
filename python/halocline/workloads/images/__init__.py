# SPDX-License-Identifier: Apache-2.0
"""What runs of encrypted images through networks share."""
