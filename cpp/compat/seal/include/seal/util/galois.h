// SPDX-License-Identifier: Apache-2.0
#pragma once

#error \
    "seal/util/galois.h (SEAL's internal permutations of slots and coefficients) is not part of this library; use what seal/seal.h has."
