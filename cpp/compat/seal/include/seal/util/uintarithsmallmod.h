// SPDX-License-Identifier: Apache-2.0
#pragma once

#error \
    "seal/util/uintarithsmallmod.h (SEAL's internal arithmetic modulo one word) is not part of this library; use what seal/seal.h has."
