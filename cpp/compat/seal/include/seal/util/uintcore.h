// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/util/defines.h"

namespace seal::util {

/// Upper-case hexadecimal digits of a number of `uint64_count` words, the least word first, without leading
/// zeros.
[[nodiscard]] std::string uint_to_hex_string(const std::uint64_t* value, std::size_t uint64_count);
/// Decimal digits of such a number.
[[nodiscard]] std::string uint_to_dec_string(const std::uint64_t* value, std::size_t uint64_count);

}  // namespace seal::util
