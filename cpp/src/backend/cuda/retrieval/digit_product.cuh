// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/array_maps.cuh"

/// Body of the kernel that multiplies digits by encryptions.
namespace halocline::backend::cuda {

/// Entries of the array that a thread of a product computes, and that a block does.
inline constexpr std::uint32_t product_entries = 2, product_warps = 8;
/// Words of a limb that a block computes: four for each thread of a warp.
inline constexpr std::uint32_t product_words = 32 * words4::size;
/// Products whose sum fits 64 bits beside what `normalise` leaves, which is worth four.
inline constexpr std::uint32_t product_terms =
    products_per_sum<std::uint32_t> - products_per_reduction<std::uint32_t>;

/// Pieces of a limb. Blocks of a product along x: pieces, then limbs, then groups of entries.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t product_pieces(std::uint32_t log_n) {
  return ((1U << log_n) + product_words - 1) / product_words;
}

[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t product_blocks(const product_params& p,
                                                                        std::uint64_t entries) {
  constexpr std::uint32_t group = product_warps * product_entries;
  return static_cast<std::uint32_t>((entries + group - 1) / group) * product_pieces(p.log_n) * p.limbs;
}

/// Sums of products of four points, both components, of some entries.
struct digit_sums {
  std::uint64_t sum[product_entries][2][words4::size] = {};

  HALOCLINE_HOST_DEVICE void add(const words4 (&digit)[product_entries], const words4 (&row)[2]) {
    HALOCLINE_UNROLL
    for (unsigned e = 0; e < product_entries; ++e) {
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < 2; ++c) {
        HALOCLINE_UNROLL
        for (unsigned i = 0; i < words4::size; ++i)
          sum[e][c][i] += std::uint64_t{digit[e].word[i]} * row[c].word[i];
      }
    }
  }
  /// Brings sums of up to 16 products below q 2^32.
  HALOCLINE_HOST_DEVICE void reduce(const modulus<std::uint32_t>& q) {
    HALOCLINE_UNROLL
    for (unsigned e = 0; e < product_entries; ++e) {
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < 2; ++c) {
        HALOCLINE_UNROLL
        for (unsigned i = 0; i < words4::size; ++i) sum[e][c][i] = normalise<std::uint32_t>(sum[e][c][i], q);
      }
    }
  }
};

/// Reads four words that other warps of the block read too: through the first-level cache.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline words4 load_cached(const std::uint32_t* from) {
  const chunk<std::uint32_t> got = read_chunk(reinterpret_cast<const chunk<std::uint32_t>*>(from));
  return {{got.word[0], got.word[1], got.word[2], got.word[3]}};
}

/// Where a thread of a product is.
struct product_place {
  std::uint32_t entry;    ///< the first one
  std::uint32_t entries;  ///< that exist; 0: the thread has none
  std::uint32_t prime, word;
  std::size_t limb;    ///< first word of the limb in a polynomial
  std::size_t second;  ///< first word of a ciphertext's second polynomial
  words4 order;        ///< word numbers of the sums that become the thread's words
  std::size_t from;    ///< first word of these sums in a polynomial

  HALOCLINE_HOST_DEVICE product_place(const product_params& p, const coordinates& at) : order{{0, 1, 2, 3}} {
    const product_item& job = p.items[at.block_y];
    const std::uint32_t pieces = product_pieces(p.log_n), all = pieces * p.limbs;
    const std::uint32_t group = at.block_x / all, piece = at.block_x - group * all;
    prime = piece / pieces;
    word = (piece - prime * pieces) * product_words + (at.thread & 31) * words4::size;
    entry = (group * product_warps + at.thread / 32) * product_entries;
    const std::uint32_t left = entry < job.count ? job.count - entry : 0;
    entries = word >= 1U << p.log_n ? 0 : left < product_entries ? left : product_entries;
    limb = static_cast<std::size_t>(prime) << p.log_n;
    second = static_cast<std::size_t>(p.limbs) << p.log_n;
    from = limb + word;
    if (job.permutation == nullptr || entries == 0) return;
    order = load4(job.permutation + word);
    from = limb + (order.word[0] & ~3U);
  }
};

/// The word of a block of four that `number` names in its two lowest bits.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t pick_word(const words4& from, std::uint32_t number) {
  const std::uint32_t low = (number & 1) != 0 ? from.word[1] : from.word[0];
  const std::uint32_t high = (number & 1) != 0 ? from.word[3] : from.word[2];
  return (number & 2) != 0 ? high : low;
}

/// The sums of a thread, below q 2^32. Where it has fewer entries, the first one takes the place of others.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline digit_sums sum_products(const product_item& job,
                                                                   const product_place& place,
                                                                   const modulus<std::uint32_t>& q) {
  const std::uint32_t* digits[product_entries];
  HALOCLINE_UNROLL
  for (unsigned e = 0; e < product_entries; ++e) {
    const std::uint32_t entry = place.entry + (e < place.entries ? e : 0);
    digits[e] = job.digits.at(std::uint64_t{entry} * job.terms) + place.from;
  }
  const std::uint32_t* row = job.rows.data + place.from;
  digit_sums sums;
  for (std::uint32_t first = 0; first < job.terms; first += product_terms) {
    if (first != 0) sums.reduce(q);
    const std::uint32_t count = job.terms - first < product_terms ? job.terms - first : product_terms;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::uint32_t r = 0; r < count; ++r) {
      words4 digit[product_entries];
      HALOCLINE_UNROLL
      for (unsigned e = 0; e < product_entries; ++e) {
        digit[e] = load4(digits[e]);
        digits[e] += job.digits.stride;
      }
      const words4 both[2] = {load_cached(row), load_cached(row + place.second)};
      row += job.rows.stride;
      sums.add(digit, both);
    }
  }
  sums.reduce(q);
  return sums;
}

/// Four points of both components of up to `product_entries` ciphertexts. A permutation maps aligned blocks
/// of four points onto such blocks, so a thread computes the block that becomes its block of the result.
HALOCLINE_HOST_DEVICE inline void product_body(const product_params& p, const coordinates& at) {
  const product_item& job = p.items[at.block_y];
  const product_place place(p, at);
  if (place.entries == 0) return;
  const modulus<std::uint32_t> q = p.moduli[place.prime];
  const digit_sums sums = sum_products(job, place, q);
  HALOCLINE_UNROLL
  for (unsigned e = 0; e < product_entries; ++e) {
    if (e >= place.entries) continue;
    std::uint32_t* const dst = job.dst.at(place.entry + e) + place.limb + place.word;
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      words4 sum, result;
      words4 plus = {};
      if (job.plus[c].data != nullptr) plus = load4(job.plus[c].at(place.entry + e) + place.from);
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < words4::size; ++i) {
        const auto reduced = arith::montgomery_reduce<std::uint32_t>(sums.sum[e][c][i], q);
        sum.word[i] = reduce_once(reduced + plus.word[i], q.value);
      }
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < words4::size; ++i) result.word[i] = pick_word(sum, place.order.word[i]);
      store4(dst + c * place.second, result);
    }
  }
}

}  // namespace halocline::backend::cuda
