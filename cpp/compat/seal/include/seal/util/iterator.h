// SPDX-License-Identifier: Apache-2.0
#pragma once

#error \
    "seal/util/iterator.h (SEAL's internal iterators over polynomials) is not part of this library; use what seal/seal.h has."
