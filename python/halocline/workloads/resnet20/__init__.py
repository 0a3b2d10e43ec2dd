# SPDX-License-Identifier: Apache-2.0
"""The workload `resnet20`: images by ResNet-20."""
