# SPDX-License-Identifier: Apache-2.0
"""`halocline pir`: private retrieval with files."""
