# SPDX-License-Identifier: Apache-2.0
"""`halocline keys`: key stores from the command line."""
