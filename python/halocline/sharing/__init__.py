# SPDX-License-Identifier: Apache-2.0
"""What results that leave the client need besides the client: bounds on errors, measured on engines."""
