// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/backend/matrix_jobs.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend {

/// Collects what a batch reads and writes, checking every view against the ring on the way.
class operand_list {
 public:
  operand_list(const ring_tables& ring, std::string_view op) : ring_(ring), op_(op) {}

  [[nodiscard]] const ring_tables& ring() const noexcept { return ring_; }
  /// Another name of the step in traces and costs. It must outlive the runtime.
  void rename(std::string_view op) noexcept { op_ = op; }
  void read(const limb_view& view) { reads_.push_back(check(view)); }
  void write(const limb_view& view) { writes_.push_back(check(view)); }
  /// The same for views that may be repeated.
  void read_repeated(const limb_view& view) { reads_.push_back(check_repeated(view)); }
  void write_repeated(const limb_view& view) { writes_.push_back(check_repeated(view)); }
  void read_bytes(const memory::buffer* data, std::size_t offset, std::size_t bytes) {
    reads_.push_back({data, offset, bytes});
  }

  void write_bytes(const memory::buffer* data, std::size_t offset, std::size_t bytes) {
    writes_.push_back({data, offset, bytes});
  }

  /// Entries of that many polynomials modulo `primes`.
  void read_entries(const matrix_view& of, std::uint32_t polys, window primes) {
    reads_.push_back(entries(of, polys, primes));
  }
  void write_entries(const matrix_view& of, std::uint32_t polys, window primes) {
    writes_.push_back(entries(of, polys, primes));
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
    HALOCLINE_EXPECTS(static_cast<bool>(ring_.roots), invalid_argument, op_,
                      ": the context has no NTT tables yet; call prepare_transforms first");
    const std::size_t entry = 4 * ring_.limb_bytes();
    reads_.push_back({&ring_.roots, primes.first * entry, primes.count * entry});
  }

  [[nodiscard]] memory::access acquire(memory::runtime& runtime, stream_view stream) const {
    return runtime.acquire(reads_, writes_, op_, stream);
  }

 private:
  [[nodiscard]] memory::operand entries(const matrix_view& of, std::uint32_t polys, window primes) const {
    const memory::operand one = check({of.data, of.limb, primes});
    return {one.data, one.offset, one.bytes * polys * of.rows * of.columns};
  }

  [[nodiscard]] memory::operand check(const limb_view& view) const {
    HALOCLINE_EXPECTS(view.log_repeat == 0, invalid_argument, op_,
                      ": one of the operands is a repeated view;", " this operation takes none there");
    return check_repeated(view);
  }

  [[nodiscard]] memory::operand check_repeated(const limb_view& view) const {
    HALOCLINE_EXPECTS(
        view.log_repeat == 0 || (view.log_repeat >= least_log_repeat && view.log_repeat < ring_.log_n),
        invalid_argument, op_, ": a view with words repeated 2^", view.log_repeat,
        " times; expected an exponent from ", least_log_repeat, " to ", ring_.log_n - 1);
    HALOCLINE_EXPECTS(view.primes.count > 0 && view.primes.end() <= ring_.primes.size(), invalid_argument,
                      op_, ": primes [", view.primes.first, ", ", view.primes.end(), ") of a ring with ",
                      ring_.primes.size(), " primes");
    const std::size_t bytes = ring_.limb_bytes() >> view.log_repeat;
    return {view.data, view.limb * bytes, view.primes.count * bytes};
  }

  const ring_tables& ring_;
  std::string_view op_;
  std::vector<memory::operand> reads_;
  std::vector<memory::operand> writes_;
};

}  // namespace halocline::backend
