// SPDX-License-Identifier: Apache-2.0
#pragma once

#error \
    "seal/util/rlwe.h (SEAL's internal sampling and encryption of zero) is not part of this library; use what seal/seal.h has."
