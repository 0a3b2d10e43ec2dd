// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/retrieval/fused_block.cuh"

/// Transforms within the block of a fused kernel.
namespace halocline::backend::cuda {

/// Coefficients of a limb of component `component`, in [-q/2, q/2), into shared memory.
/// @param load the i-th chunk of the limb's words
template <typename ShapeT, typename TeamT, typename LoadT>
HALOCLINE_HOST_DEVICE inline void fused_inverse(const fused_block<ShapeT>& on, TeamT& team,
                                                std::uint32_t component, const fused_limb& limb,
                                                const LoadT& load) {
  using state = fused_state<ShapeT>;
  team.each([&](std::uint32_t thread, state&) {
    const auto at = on.inverse(thread, limb, on.results);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i)
      *at.chunk_place(at.moved_chunk(i)) = load(at.moved_chunk(i));
  });
  const unsigned rounds = on.inverse(0, limb, on.exchange).rounds();
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < rounds; ++s) {
    team.each([&](std::uint32_t thread, state& own) {
      if (s == 0) on.inverse(thread, limb, on.results).get_neighbours(own.x);
      on.inverse(thread, limb, on.exchange).template inverse_step<true>(s, own.x);
      if (s + 1 < rounds) return;
      const std::uint32_t q = limb.q.value;
      std::int32_t* const to = on.coefficients_of(thread, component, limb.number);
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < ShapeT::size; ++i) {
        to[i * on.threads()] = static_cast<std::int32_t>(own.x[i] - (own.x[i] > q / 2 ? q : 0));
      }
    });
  }
}

/// Begins to copy chunks to shared memory: those that the thread moves.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void fused_fetch(const fused_block<ShapeT>& on, std::uint32_t thread,
                                              std::uint32_t* to, const std::uint32_t* from) {
  using part = pack<std::uint32_t>;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::chunks; ++i) {
    const std::uint32_t number = on.moved_chunk(thread, i);
    load_async(reinterpret_cast<part*>(to)[number], from + number * part::size);
  }
}

/// Brings the twiddles of a target into shared memory. Other threads may still use results, but no twiddles.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_fetch_twiddles(const fused_block<ShapeT>& on, TeamT& team,
                                                       const fused_limb& target) {
  if constexpr (ShapeT::staged) {
    team.each([&](std::uint32_t thread, fused_state<ShapeT>&) {
      fused_fetch(on, thread, on.twiddles, on.template table<false>(target).quotients);
      wait_async();
    });
  }
}

/// Transforms a digit of limb `limb` of component `component` modulo prime `target`; ends with a barrier
/// behind which `results` has the words, below four times the prime, as chunks.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_forward(const fused_block<ShapeT>& on, TeamT& team,
                                                std::uint32_t component, std::uint32_t limb,
                                                std::uint32_t digit, const fused_limb& target) {
  using state = fused_state<ShapeT>;
  const unsigned rounds = on.forward(0, target, on.exchange).rounds();
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < rounds; ++s) {
    team.each([&](std::uint32_t thread, state& own) {
      const auto at = on.forward(thread, target, on.exchange);
      if (s == 0) {
        const std::int32_t* const from = on.coefficients_of(thread, component, limb);
        const fused_digit rule = on.p.digit[digit];
        HALOCLINE_UNROLL
        for (unsigned i = 0; i < ShapeT::size; ++i) {
          const std::int32_t x = from[i * on.threads()];
          const auto part =
              static_cast<std::uint32_t>((((x + rule.add) >> rule.shift) & rule.mask) - rule.half);
          own.x[i] = reduce_once<std::uint32_t>(part, 0 - at.at.q);  // part, or part + q where it is negative
        }
      }
      at.forward_loaded(s, own.x);
      if (s + 1 == rounds) on.forward(thread, target, on.results).put_neighbours(own.x);
    });
  }
}

}  // namespace halocline::backend::cuda
