// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/util/defines.h"

namespace seal::util {

/// Bits of a number: the position of its highest bit and one; 0 for 0.
[[nodiscard]] int get_significant_bit_count(std::uint64_t value) noexcept;
/// Whether the words of two numbers of `uint64_count` words are equal.
[[nodiscard]] bool is_equal_uint(const std::uint64_t* operand1, const std::uint64_t* operand2,
                                 std::size_t uint64_count) noexcept;
/// Upper-case hexadecimal digits of a number of `uint64_count` words, the least word first, without leading
/// zeros.
[[nodiscard]] std::string uint_to_hex_string(const std::uint64_t* value, std::size_t uint64_count);
/// Decimal digits of such a number.
[[nodiscard]] std::string uint_to_dec_string(const std::uint64_t* value, std::size_t uint64_count);

}  // namespace seal::util
