// SPDX-License-Identifier: Apache-2.0
#pragma once

#error \
    "seal/util/ntt.h (SEAL's internal transforms and their tables) is not part of this library; use what seal/seal.h has."
