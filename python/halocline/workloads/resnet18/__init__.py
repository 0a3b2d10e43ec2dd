# SPDX-License-Identifier: Apache-2.0
"""The workload `resnet18`: images of 64 x 64 pixels by ResNet-18."""
