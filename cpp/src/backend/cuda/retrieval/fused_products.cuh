// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/fused_transform.cuh"

/// Products of digits with rows within the block of a fused kernel.
namespace halocline::backend::cuda {

/// First word of component `c` of row `term`, for a target.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline const std::uint32_t* fused_row(const fused_block<ShapeT>& on,
                                                                          std::uint32_t term, unsigned c,
                                                                          const fused_limb& target) {
  return on.job.rows.data + term * on.job.rows.stride + on.offset(c, target.number);
}

/// Begins to copy a row to shared memory, each thread the chunks that it will read.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_fetch_row(const fused_block<ShapeT>& on, TeamT& team,
                                                  std::uint32_t term, const fused_limb& target) {
  if constexpr (ShapeT::staged) {
    team.each_alone([&](std::uint32_t thread, fused_state<ShapeT>&) {
      fused_fetch(on, thread, on.rows, fused_row(on, term, 0, target));
      fused_fetch(on, thread, on.rows + (1U << on.log_n()), fused_row(on, term, 1, target));
    });
  }
}

/// Adds words times row `term` to the sums of a thread. @param words the i-th chunk of words, reduced
template <typename ShapeT, typename WordsT>
HALOCLINE_HOST_DEVICE inline void fused_multiply(const fused_block<ShapeT>& on, std::uint32_t thread,
                                                 fused_state<ShapeT>& own, std::uint32_t term,
                                                 const fused_limb& target, const WordsT& words) {
  if constexpr (ShapeT::staged) wait_async();
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::chunks; ++i) {
    const std::uint32_t number = on.moved_chunk(thread, i);
    const chunk<std::uint32_t> x = words(number);
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      const std::uint32_t* const row =
          ShapeT::staged ? on.rows + (c << on.log_n()) : fused_row(on, term, c, target);
      const chunk<std::uint32_t> y = read_chunk(reinterpret_cast<const chunk<std::uint32_t>*>(row) + number);
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        own.sum[c][4 * i + j] += static_cast<std::uint64_t>(x.word[j]) * y.word[j];
      }
    }
  }
}

/// Brings the sums of a thread below q 2^32.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void fused_normalise(fused_state<ShapeT>& own, const fused_limb& target) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < 2 * ShapeT::size; ++i) {
    std::uint64_t& sum = own.sum[i / ShapeT::size][i % ShapeT::size];
    sum = normalise<std::uint32_t>(sum, target.q);
  }
}

/// Chunk `i` of the sums of component `c` of a thread, divided by 2^32 and reduced.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline chunk<std::uint32_t> fused_reduce(
    const fused_state<ShapeT>& own, unsigned c, unsigned i, const modulus<std::uint32_t>& q) {
  chunk<std::uint32_t> out;
  HALOCLINE_UNROLL
  for (unsigned j = 0; j < 4; ++j) {
    const std::uint64_t sum = normalise<std::uint32_t>(own.sum[c][4 * i + j], q);
    out.word[j] = arith::montgomery_reduce<std::uint32_t>(sum, q);
  }
  return out;
}

/// The digits of a node's components, one after the other.
struct fused_term {
  std::uint32_t number = 0, component = 0, limb = 0, digit = 0;

  HALOCLINE_HOST_DEVICE void advance(std::uint32_t limbs, std::uint32_t digits) {
    ++number;
    if (++digit < digits) return;
    digit = 0;
    if (++limb < limbs) return;
    limb = 0;
    ++component;
  }
};

/// Adds the product of a term, whose words are transformed if they are not known already.
template <typename ShapeT, typename TeamT, typename OwnT>
HALOCLINE_HOST_DEVICE inline void fused_add_term(const fused_block<ShapeT>& on, TeamT& team,
                                                 const fused_term& term, const fused_limb& target,
                                                 const OwnT& own_words) {
  using state = fused_state<ShapeT>;
  const std::uint32_t q = target.q.value;
  fused_fetch_row(on, team, term.number, target);
  if (on.p.digits == 1 && term.limb == target.number) {  // a residue modulo its own prime
    team.each_alone([&](std::uint32_t thread, state& own) {
      fused_multiply(on, thread, own, term.number, target,
                     [&](std::uint32_t number) { return own_words(term.component, number); });
    });
    return;
  }
  fused_forward(on, team, term.component, term.limb, term.digit, target);
  team.each_alone([&](std::uint32_t thread, state& own) {
    const auto at = on.forward(thread, target, on.results);
    fused_multiply(on, thread, own, term.number, target, [&](std::uint32_t number) {
      chunk<std::uint32_t> x = read_chunk(at.chunk_place(number));
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        x.word[j] = reduce_once<std::uint32_t>(reduce_once<std::uint32_t>(x.word[j], 2 * q), q);
      }
      return x;
    });
  });
}

/// Sums of products of all digits with the rows, for a limb, in the threads' registers.
/// @param own_words chunk of the words of that limb of a component whose digits are multiplied
/// @param first_row number of the first digit's row
template <typename ShapeT, typename TeamT, typename OwnT>
HALOCLINE_HOST_DEVICE inline void fused_products(const fused_block<ShapeT>& on, TeamT& team,
                                                 const fused_limb& target, const OwnT& own_words,
                                                 std::uint32_t first_row = 0) {
  using state = fused_state<ShapeT>;
  fused_fetch_twiddles(on, team, target);
  team.each_alone([&](std::uint32_t, state& own) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 2 * ShapeT::size; ++i) own.sum[i / ShapeT::size][i % ShapeT::size] = 0;
  });
  std::uint32_t products = 0;
  HALOCLINE_NO_UNROLL
  for (fused_term term{first_row}; term.component < ShapeT::components;
       term.advance(on.p.limbs, on.p.digits)) {
    fused_add_term(on, team, term, target, own_words);
    if (++products < products_per_sum<std::uint32_t>) continue;
    team.each_alone([&](std::uint32_t, state& own) { fused_normalise(own, target); });
    products = products_per_reduction<std::uint32_t>;
  }
}

}  // namespace halocline::backend::cuda
