// SPDX-License-Identifier: Apache-2.0
#pragma once

// SEAL's headers bring these along, and programs rely on it.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "seal/util/config.h"
#include "seal/version.h"

#define SEAL_NODISCARD [[nodiscard]]
#define SEAL_MAYBE_UNUSED [[maybe_unused]]
#define SEAL_FALLTHROUGH [[fallthrough]]
#define SEAL_IF_CONSTEXPR if constexpr
#define SEAL_NOEXCEPT noexcept
#define SEAL_USE_STD_BYTE
/// Operations of the evaluator refuse transparent results.
#define SEAL_THROW_ON_TRANSPARENT_CIPHERTEXT

/// Bits of a prime: of those that programs choose, and of all.
#define SEAL_MOD_BIT_COUNT_MIN 2
#define SEAL_MOD_BIT_COUNT_MAX 61
#define SEAL_USER_MOD_BIT_COUNT_MIN 2
#define SEAL_USER_MOD_BIT_COUNT_MAX 60
#define SEAL_INTERNAL_MOD_BIT_COUNT 61
#define SEAL_PLAIN_MOD_BIT_COUNT_MIN SEAL_USER_MOD_BIT_COUNT_MIN
#define SEAL_PLAIN_MOD_BIT_COUNT_MAX SEAL_USER_MOD_BIT_COUNT_MAX
#define SEAL_PLAIN_MOD_MIN (1ULL << (SEAL_PLAIN_MOD_BIT_COUNT_MIN - 1))
#define SEAL_PLAIN_MOD_MAX ((1ULL << SEAL_PLAIN_MOD_BIT_COUNT_MAX) - 1)
/// Number of primes.
#define SEAL_COEFF_MOD_COUNT_MIN 1
#define SEAL_COEFF_MOD_COUNT_MAX 256
/// Ring degree.
#define SEAL_POLY_MOD_DEGREE_MIN 2
#define SEAL_POLY_MOD_DEGREE_MAX 131072
/// Polynomials of a ciphertext.
#define SEAL_CIPHERTEXT_SIZE_MIN 2
#define SEAL_CIPHERTEXT_SIZE_MAX 16

namespace seal {

using seal_byte = std::byte;
#define SEAL_BYTE(value) (static_cast<::seal::seal_byte>(value))

}  // namespace seal
