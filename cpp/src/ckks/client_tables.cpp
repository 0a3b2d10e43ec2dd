// SPDX-License-Identifier: Apache-2.0
#include "ckks/client_tables.hpp"

#include <utility>
#include <vector>

#include "ckks/encoder_fft.hpp"
#include "halocline/ring/coefficient_math.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::ckks {
namespace {

/// Constants of mixed radix digits, primes from the last to the first.
template <typename WordT>
std::vector<ring::elimination<WordT>> make_eliminations(std::span<const std::uint64_t> primes) {
  std::vector<ring::elimination<WordT>> table;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const auto q = ring::make_modulus(static_cast<WordT>(primes[primes.size() - 1 - i]));
    for (std::size_t j = 0; j < i; ++j) {
      const auto other = static_cast<WordT>(primes[primes.size() - 1 - j]);
      const WordT inverse = ring::inverse_mod(static_cast<WordT>(other % q.value), q);
      const auto offset = static_cast<WordT>((other / 2 + q.value - 1) / q.value * q.value);
      table.push_back({offset, inverse, ring::shoup_quotient(inverse, q)});
    }
  }
  return table;
}

}  // namespace

client_tables& context::client() {
  if (!client_) client_ = std::make_shared<client_tables>(*this);
  return *client_;
}

memory::buffer client_tables::upload(std::span<const std::byte> bytes, const char* tag) const {
  memory::buffer table = ctx_.runtime().allocate(bytes.size(), memory::object_class::table, tag);
  ctx_.device().upload(table, 0, bytes);
  return table;
}

const memory::buffer& client_tables::slots(std::uint32_t slots) {
  memory::buffer& table = slots_[slots];
  if (!table) table = upload(make_slot_table(slots, ctx_.parameters().galois_generator()), "encoder.slots");
  return table;
}

const memory::buffer* client_tables::lift(backend::window primes) {
  if (primes.count < 2) return nullptr;
  memory::buffer& table = lifts_[std::uint64_t{primes.first} << 32 | primes.count];
  if (!table) {
    const auto values = ctx_.parameters().primes().subspan(primes.first, primes.count);
    const auto upload_all = [&](const auto& entries) {
      return upload(std::as_bytes(std::span(entries)), "encoder.lift");
    };
    table = ctx_.tables().word_bits == 32 ? upload_all(make_eliminations<std::uint32_t>(values))
                                          : upload_all(make_eliminations<std::uint64_t>(values));
  }
  return &table;
}

const memory::buffer& client_tables::error() {
  if (!error_) {
    const std::vector<std::uint64_t> table = ring::gaussian_table(ctx_.parameters().error_stddev());
    error_ = upload(std::as_bytes(std::span(table)), "sampler.error");
  }
  return error_;
}

}  // namespace halocline::ckks
