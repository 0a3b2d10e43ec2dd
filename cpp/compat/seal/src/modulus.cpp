// SPDX-License-Identifier: Apache-2.0
#include "seal/modulus.h"

#include <bit>

#include "files.hpp"
#include "halocline/params/primes.hpp"

namespace seal {
namespace {

using wide = unsigned __int128;

auto members_of(const std::uint64_t& value) {
  return [&value](std::ostream& to) { to.write(reinterpret_cast<const char*>(&value), sizeof value); };
}

auto loader_of(Modulus& to) {
  return [&to](std::istream& from, SEALVersion) {
    std::uint64_t value = 0;
    from.read(reinterpret_cast<char*>(&value), sizeof value);
    if (value == 1 || std::bit_width(value) > SEAL_MOD_BIT_COUNT_MAX) {
      throw std::logic_error("Modulus: a file has " + std::to_string(value) +
                             "; expected 0, or 2 to 61 bits");
    }
    to = value;
  };
}

}  // namespace

void Modulus::set_value(std::uint64_t value) {
  if (value == 1 || std::bit_width(value) > SEAL_MOD_BIT_COUNT_MAX) {
    throw std::invalid_argument("Modulus: " + std::to_string(value) + "; expected 0, or 2 to 61 bits");
  }
  value_ = value;
  bit_count_ = static_cast<int>(std::bit_width(value));
  const_ratio_ = {};
  is_prime_ = false;
  if (value == 0) return;
  const wide highest = ~wide{0};  // 2^128 - 1
  wide quotient = highest / value;
  wide remainder = highest % value + 1;
  if (remainder == value) {
    remainder = 0;
    ++quotient;
  }
  const_ratio_ = {static_cast<std::uint64_t>(quotient), static_cast<std::uint64_t>(quotient >> 64),
                  static_cast<std::uint64_t>(remainder)};
  is_prime_ = ::halocline::params::is_prime(value);
}

std::streamoff Modulus::save_size(compr_mode_type compr_mode) const {
  return halocline_detail::bound(halocline_detail::modulus_bytes, compr_mode);
}

std::streamoff Modulus::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return Serialization::Save(members_of(value_), save_size(compr_mode_type::none), stream, compr_mode);
}

std::streamoff Modulus::load(std::istream& stream) { return Serialization::Load(loader_of(*this), stream); }

std::streamoff Modulus::save(seal_byte* out, std::size_t size, compr_mode_type compr_mode) const {
  return Serialization::Save(members_of(value_), save_size(compr_mode_type::none), out, size, compr_mode);
}

std::streamoff Modulus::load(const seal_byte* in, std::size_t size) {
  return Serialization::Load(loader_of(*this), in, size);
}

}  // namespace seal
