# SPDX-License-Identifier: Apache-2.0
"""What everything else stands on: reading and writing files, and the limits of what is read."""
