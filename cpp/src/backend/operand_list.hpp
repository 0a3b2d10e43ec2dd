// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend {

/// Collects what a batch reads and writes, checking every view against the ring on the way.
class operand_list {
 public:
  operand_list(const ring_tables& ring, std::string_view op) : ring_(ring), op_(op) {}

  void read(const limb_view& view) { reads_.push_back(check(view)); }
  void write(const limb_view& view) { writes_.push_back(check(view)); }
  void read_bytes(const memory::buffer* data, std::size_t offset, std::size_t bytes) {
    reads_.push_back({data, offset, bytes});
  }

  void write_bytes(const memory::buffer* data, std::size_t offset, std::size_t bytes) {
    writes_.push_back({data, offset, bytes});
  }

  /// Requires that `view` spans the primes of `reference`.
  void same_primes(const limb_view& view, const limb_view& reference) const {
    HALOCLINE_EXPECTS(view.primes == reference.primes, invalid_argument, op_, ": operands span primes [",
                      view.primes.first, ", ", view.primes.end(), ") and [", reference.primes.first, ", ",
                      reference.primes.end(), "); all must span the same");
  }

  /// Requires one constant per limb of `view`.
  void one_per_limb(std::size_t constants, const limb_view& view) const {
    HALOCLINE_EXPECTS(constants == view.primes.count, invalid_argument, op_, ": ", constants,
                      " constants for ", view.primes.count, " limbs");
  }

  /// Adds the moduli of `primes` to the reads.
  void read_moduli(window primes) {
    const std::size_t entry = ring_.moduli.size() / ring_.primes.size();
    reads_.push_back({&ring_.moduli, primes.first * entry, primes.count * entry});
  }

  /// Adds the NTT tables of `primes` to the reads.
  void read_roots(window primes) {
    const std::size_t entry = 4 * ring_.limb_bytes();
    reads_.push_back({&ring_.roots, primes.first * entry, primes.count * entry});
  }

  [[nodiscard]] memory::access acquire(memory::runtime& runtime, stream_view stream) const {
    return runtime.acquire(reads_, writes_, op_, stream);
  }

 private:
  [[nodiscard]] memory::operand check(const limb_view& view) const {
    HALOCLINE_EXPECTS(view.primes.count > 0 && view.primes.end() <= ring_.primes.size(), invalid_argument,
                      op_, ": primes [", view.primes.first, ", ", view.primes.end(), ") of a ring with ",
                      ring_.primes.size(), " primes");
    return {view.data, view.limb * ring_.limb_bytes(), view.primes.count * ring_.limb_bytes()};
  }

  const ring_tables& ring_;
  std::string_view op_;
  std::vector<memory::operand> reads_;
  std::vector<memory::operand> writes_;
};

}  // namespace halocline::backend
