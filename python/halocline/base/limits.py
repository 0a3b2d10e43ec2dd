# SPDX-License-Identifier: Apache-2.0
"""Largest sizes of what is read from outside, in bytes. SECURITY.md lists them; a test compares the two."""

from __future__ import annotations

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

PARAMETERS = 64 * KIB
"""JSON of a parameter set, in a file or in a container."""
CONTAINER_STREAM = GIB
"""A container on standard input. Container files are mapped: they have no limit, and no copy is made."""
PLAN = 256 * MIB
"""A plan file."""
TRACE = 2 * GIB
"""The text of a trace or of a log of RMM, unpacked."""
TRACE_UNPACKED_BASE = 16 * MIB
TRACE_UNPACKED_FACTOR = 128
"""A trace in an xz file of n bytes may become TRACE_UNPACKED_BASE + TRACE_UNPACKED_FACTOR n bytes."""
XZ_MEMORY = 96 * MIB
"""What the decoder of an xz file may allocate: presets of xz up to -9 need 65 MiB."""
DEVICE_MODEL = MIB
"""JSON of a device model."""
DECISIONS = 256 * MIB
"""A decision file."""
VALUES = 16 * MIB
"""Numbers to encrypt, as .npy or text."""
VALUE_COUNT = 1 << 16
"""How many numbers those may be: the slots of the largest ring."""
ENCRYPTED_ARRAY = 16 * GIB
"""A file with an encrypted array."""
ARRAY_HEADER = 16 * MIB
"""The description in front of its ciphertexts."""
MODEL = 16 * MIB
"""JSON of a network or of ranges of activations."""
WEIGHTS = 4 * GIB
"""A safetensors file of weights."""
WEIGHT_COUNT = 1 << 28
"""Numbers in the weights of a model."""
WEIGHTS_HEADER = 16 * MIB
"""The header of a safetensors file."""
TENSOR_DIMENSIONS = 32
"""Dimensions of a tensor in a safetensors or an ONNX file: the most that every numpy has."""
ONNX = GIB
"""An ONNX file without what is beside it; also the constants that are computed when it is read."""
ONNX_LIST = 1 << 12
"""Numbers in a list that an operator of ONNX takes: a shape, axes, pads, sizes of parts."""
IMAGE = 64 * MIB
"""An image file."""
IMAGE_PIXELS = 1 << 26
"""Its pixels before it is resized."""
CHECKPOINT = 8 * GIB
"""A checkpoint of a network."""
CLIENT_SPEC = MIB
"""A client's specification of a network."""
CLIENT_SPEC_KEYS = 1 << 13
"""How many evaluation keys it may ask for."""
CLIENT_SPEC_PLACES = 1 << 22
"""Slots of all ciphertexts that hold an input, or a result, by it."""
CLIENT_KEYS = 16 * GIB
"""Evaluation keys that a client makes for a specification, as they are sent, unless it allows more."""
IDX = 256 * MIB
"""An array in an IDX file (MNIST), unpacked."""
RUN = 64 * KIB
"""The description of a run in its folder."""
RESULT = 64 * MIB
"""A result that `halocline bench --json` wrote."""
RETRIEVAL_INFO = 64 * KIB
"""JSON that describes a database for private retrieval."""
RETRIEVAL_MESSAGES = GIB
"""A file of queries, answers or server keys of private retrieval."""
KEYWORD_SOURCE = 4 * GIB
"""A file of keys and values from which `halocline pir build` makes a table."""
KEY_NODE_HELLO = 4 * KIB
"""The first message to a key node, before it has seen a token."""
KEY_NODE_META = MIB
"""JSON that describes a message between an engine and a key node, and a whole error message."""
KEY_NODE_MESSAGE = GIB
"""A message between an engine and a key node: ciphertexts there or back, or the weights of a map."""
SEAL_FILE = 4 * GIB
"""An object of SEAL in a file, and the same unpacked."""
SEAL_UNPACKED_BASE = 64 * MIB
SEAL_UNPACKED_FACTOR = 32
"""A packed object of n bytes may become SEAL_UNPACKED_BASE + SEAL_UNPACKED_FACTOR n bytes."""
