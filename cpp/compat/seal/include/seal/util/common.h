// SPDX-License-Identifier: Apache-2.0
#pragma once

#error \
    "seal/util/common.h (SEAL's internal helpers for bits, sizes and pointers) is not part of this library; use what seal/seal.h has."
