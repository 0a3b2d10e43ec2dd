// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/key_turned.cuh"
#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/ntt/ntt_tuning.hpp"

/// Key products of digits whose transform has its second phase left (rings of 2^16, 32-bit words): a warp
/// transforms a row of a digit, 2^8 words, and multiplies it with that row of the key, digit after digit, so
/// that transformed digits are neither written nor read. Rows of the next digits and keys are copied to
/// shared memory meanwhile. Automorphisms map rows onto rows, so a warp computes the row of sums that becomes
/// its row of the result. Bodies of the kernel; lanes of a warp meet where `key_rows_part` says so.
namespace halocline::backend::cuda {

struct key_rows_shape {
  using word = std::uint32_t;
  static constexpr unsigned e = 3, k = row_stages;
  static constexpr std::uint32_t lanes = 1U << (k - e), rows = 4, threads = rows * lanes;
  static constexpr std::uint32_t row_words = 1U << k;
  static constexpr unsigned stages = 2;
  static constexpr unsigned packs = (1U << e) / pack<word>::size;  ///< of a lane
  static_assert(lanes == 32);
};

/// A row of a digit, in whose place it is transformed, and of both halves of its key; at the end sums that
/// are turned take the place of the key.
struct key_rows_stage {
  alignas(16) std::uint32_t words[exchange_words(key_rows_shape::k, key_rows_shape::e)];
  alignas(16) std::uint32_t keys[2][key_rows_shape::row_words];
};

/// A lane of a warp, for one part of a job.
class key_rows_lane {
  using shape = key_rows_shape;
  using word = shape::word;
  using row_type = ntt_thread<word, shape::e, shape::k, true, false, twiddle_table<word, true>>;

 public:
  using words_type = word[1U << shape::e];
  using sums_type = key_sums<word>[shape::packs];

  /// `row`: of the result.
  HALOCLINE_HOST_DEVICE key_rows_lane(const key_params<word>& p, const key_position& at, std::uint32_t row,
                                      std::uint32_t lane)
      : p_(p),
        number_(at.job + at.part),
        local_(at.block_y - p.jobs.begin[at.job]),
        limb_(at.block_y),
        lane_(lane),
        row_(p.turned ? key_map(p, at)(row << shape::k) >> shape::k : row) {}

  [[nodiscard]] HALOCLINE_HOST_DEVICE const auto& job() const { return p_.jobs.items[number_]; }
  [[nodiscard]] HALOCLINE_HOST_DEVICE const auto& digit(std::uint32_t d) const {
    return p_.digit_list[job().first_digit + d];
  }
  /// First word of the row, in the limbs of the job.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::size_t offset() const {
    return static_cast<std::size_t>(local_) * p_.words + (row_ << shape::k);
  }
  /// Quotients of the twiddles of the rows of the block, of level `level`: `rows << level` words, which go to
  /// the same place of the block's table.
  [[nodiscard]] HALOCLINE_HOST_DEVICE const word* twiddles(unsigned level) const {
    const word* const quotients = p_.roots + (4 * std::size_t{prime()} + 1) * p_.words;
    const std::uint32_t first = (p_.words >> shape::k) + row_ / shape::rows * shape::rows;
    return quotients + (static_cast<std::size_t>(first) << level);
  }

  /// The words that the first round begins with.
  HALOCLINE_HOST_DEVICE void read(const key_rows_stage& stage, words_type& x) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 1U << shape::e; ++i) x[i] = stage.words[i * shape::lanes + lane_];
  }
  static constexpr unsigned rounds = (shape::k + shape::e - 1) / shape::e;
  /// Round `s` of the transform, in the stage.
  HALOCLINE_HOST_DEVICE void round(unsigned s, key_rows_stage& stage, const word* table,
                                   words_type& x) const {
    row_of(stage, table).forward_loaded(s, x);
  }
  HALOCLINE_HOST_DEVICE void put(key_rows_stage& stage, const words_type& x) const {
    row_of(stage, nullptr).put_neighbours(x);
  }
  /// Adds the products of a transformed digit with its key.
  HALOCLINE_HOST_DEVICE void add_transformed(const key_rows_stage& stage, sums_type& sums) const {
    const row_type row = row_of(stage, nullptr);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < shape::packs; ++i) {
      const auto got = reduce_chunk(read_chunk<word>(row.chunk_place(row.moved_chunk(i))), row.at);
      pack<word> d;
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < pack<word>::size; ++c) d.word[c] = got.word[c];
      add(stage, i, d, sums);
    }
  }
  /// The same of a digit that had been transformed.
  HALOCLINE_HOST_DEVICE void add_copied(const key_rows_stage& stage, sums_type& sums) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < shape::packs; ++i) add(stage, i, pack_at(stage.words, i), sums);
  }
  /// After digit `d`: sums of more than a group of digits are reduced after each group and at the end.
  HALOCLINE_HOST_DEVICE void normalise(std::uint32_t d, sums_type& sums) const {
    const std::uint32_t digits = job().digits;
    if (digits <= key_group || (d % key_group != key_group - 1 && d + 1 != digits)) return;
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < shape::packs; ++i) key_normalise(sums[i], modulus_of());
  }

  /// Writes the sums.
  HALOCLINE_HOST_DEVICE void finish(const sums_type& sums) const {
    const cache_policy policy = make_policy(p_.data);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < shape::packs; ++i) key_finish(p_, place(i), sums[i], modulus_of(), policy);
  }
  /// Puts them where `turn` finds them.
  HALOCLINE_HOST_DEVICE void keep(key_rows_stage& stage, const sums_type& sums) const {
    const cache_policy policy = make_policy(p_.data);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < shape::packs; ++i) {
      HALOCLINE_UNROLL
      for (unsigned h = 0; h < 2; ++h) {
        reinterpret_cast<pack<word>*>(stage.keys[h])[pack_number(i)] =
            key_result(p_, place(i), h, sums[i], modulus_of(), policy);
      }
    }
  }
  /// Writes row `row` of the result, after all lanes have put their sums there.
  HALOCLINE_HOST_DEVICE void turn(const key_position& at, std::uint32_t row,
                                  const key_rows_stage& stage) const {
    const galois_map map = key_map(p_, at);
    const word q = modulus_of().value;
    HALOCLINE_UNROLL
    for (std::uint32_t r = 0; r < shape::row_words / shape::lanes; ++r) {
      const std::uint32_t index = (row << shape::k) + r * shape::lanes + lane_;
      const std::uint32_t from = map(index) % shape::row_words;
      HALOCLINE_UNROLL
      for (unsigned h = 0; h < 2; ++h) {
        word& dst = job().dst[h][static_cast<std::size_t>(local_) * p_.words + index];
        const word sum = stage.keys[h][from];
        dst = job().accumulate ? subtract_once<word>(sum + dst, q) : sum;
      }
    }
  }

 private:
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t prime() const { return job().first_prime + local_; }
  [[nodiscard]] HALOCLINE_HOST_DEVICE const modulus<word>& modulus_of() const { return p_.moduli[prime()]; }
  [[nodiscard]] HALOCLINE_HOST_DEVICE row_type row_of(const key_rows_stage& stage, const word* table) const {
    twiddle_table<word, true> at{nullptr, table, 0, 0};
    set_prime<false>(at, modulus_of());
    return {
        at,       nullptr, nullptr, const_cast<word*>(stage.words), shape::rows + row_ % shape::rows, lane_,
        shape::k, 0,       0};
  }
  /// Number of the lane's pack `i` in the row.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t pack_number(unsigned i) const {
    return i * shape::lanes + lane_;
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE key_place place(unsigned i) const {
    return {number_, local_, limb_, (row_ << shape::k) + pack_number(i) * pack<word>::size};
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE pack<word> pack_at(const word* row, unsigned i) const {
    return reinterpret_cast<const pack<word>*>(row)[pack_number(i)];
  }
  HALOCLINE_HOST_DEVICE void add(const key_rows_stage& stage, unsigned i, const pack<word>& d,
                                 sums_type& sums) const {
    key_add(sums[i], d, pack_at(stage.keys[0], i), pack_at(stage.keys[1], i));
  }

  const key_params<word>& p_;
  std::uint32_t number_, local_, limb_, lane_;
  std::uint32_t row_;  ///< of the digits and keys
};

}  // namespace halocline::backend::cuda
