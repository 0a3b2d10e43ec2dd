// SPDX-License-Identifier: Apache-2.0
#include "ckks/client_tables.hpp"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ckks/encoder_fft.hpp"
#include "halocline/arith/coefficient_math.hpp"
#include "halocline/backend/table_recipe.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::ckks {
namespace {

/// Constants of mixed radix digits, primes from the last to the first.
template <typename WordT>
std::vector<arith::elimination<WordT>> make_eliminations(std::span<const std::uint64_t> primes) {
  std::vector<arith::elimination<WordT>> table;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const auto q = arith::make_modulus(static_cast<WordT>(primes[primes.size() - 1 - i]));
    for (std::size_t j = 0; j < i; ++j) {
      const auto other = static_cast<WordT>(primes[primes.size() - 1 - j]);
      const WordT inverse = arith::inverse_mod(static_cast<WordT>(other % q.value), q);
      const auto offset = static_cast<WordT>((other / 2 + q.value - 1) / q.value * q.value);
      table.push_back({offset, inverse, arith::shoup_quotient(inverse, q)});
    }
  }
  return table;
}

template <typename EntryT>
std::vector<std::byte> bytes_of(const std::vector<EntryT>& entries) {
  const auto bytes = std::as_bytes(std::span(entries));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

client_tables& context::client_tables() {
  if (!client_) client_ = std::make_shared<ckks::client_tables>(*this);
  return *client_;
}

memory::buffer client_tables::upload(maker contents, const char* tag) const {
  const std::vector<std::byte> bytes = contents();
  memory::buffer table = ctx_.runtime().allocate(bytes.size(), memory::object_class::table, tag);
  ctx_.device().upload(table, 0, bytes);
  const auto write = [device = &ctx_.device(), contents = std::move(contents)](const memory::buffer& to) {
    device->upload(to, 0, contents());
  };
  ctx_.runtime().set_recipe(table, std::make_shared<backend::table_recipe>(write));
  return table;
}

const memory::buffer& client_tables::slots(std::uint32_t slots) {
  memory::buffer& table = slots_[slots];
  if (!table) {
    const auto contents = [slots, generator = ctx_.parameters().galois_generator()] {
      return make_slot_table(slots, generator);
    };
    table = upload(contents, "encoder.slots");
  }
  return table;
}

const memory::buffer* client_tables::lift(arith::window primes) {
  if (primes.count < 2) return nullptr;
  memory::buffer& table = lifts_[std::uint64_t{primes.first} << 32 | primes.count];
  if (!table) {
    const auto values = ctx_.parameters().primes().subspan(primes.first, primes.count);
    const auto contents = [all = std::vector<std::uint64_t>(values.begin(), values.end()),
                           narrow = ctx_.tables().word_bits == 32] {
      return narrow ? bytes_of(make_eliminations<std::uint32_t>(all))
                    : bytes_of(make_eliminations<std::uint64_t>(all));
    };
    table = upload(contents, "encoder.lift");
  }
  return &table;
}

const memory::buffer& client_tables::error() {
  if (!error_) {
    const auto contents = [deviation = ctx_.parameters().error_stddev()] {
      return bytes_of(ring::gaussian_table(deviation));
    };
    error_ = upload(contents, "sampler.error");
  }
  return error_;
}

}  // namespace halocline::ckks
