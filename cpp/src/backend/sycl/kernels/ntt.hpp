// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

/// Transforms with radix-8 butterflies in registers: passes through global memory until what remains fits
/// into tiles, then all other stages in local memory. Residues are lazy, in [0, 4q) forward and [0, 2q) back
/// (Harvey, "Faster arithmetic for number-theoretic transforms", 2014).
///
/// Stage s has 2^s groups of N / 2^s words. A step of `Steps` stages from s on takes 2^Steps words of a
/// group, N / 2^(s + Steps) apart.
namespace halocline::sycl_kernels {

/// The forward butterfly: low in [0, 4q), high any of [0, 4q).
inline void forward_pair(word& low, word& high, word root, word quotient, const modulus& q) {
  const word x = low >= 2 * q.value ? low - 2 * q.value : low;
  const word y = arith::mul_shoup_lazy(high, root, quotient, q);
  low = x + y;
  high = x - y + 2 * q.value;
}

/// The inverse butterfly on [0, 2q).
inline void inverse_pair(word& low, word& high, word root, word quotient, const modulus& q) {
  const word sum = low + high;
  const word difference = low - high + 2 * q.value;
  low = sum >= 2 * q.value ? sum - 2 * q.value : sum;
  high = arith::mul_shoup_lazy(difference, root, quotient, q);
}

/// `Steps` stages of words x of group `g` of stage `stage`.
template <unsigned Steps>
inline void forward_steps(word* x, unsigned stage, std::size_t g, const ntt_item<word>& of,
                          const modulus& q) {
  for (unsigned t = 0; t < Steps; ++t) {
    const unsigned half = 1U << (Steps - 1 - t);
    for (unsigned pair = 0; pair < 1U << (Steps - 1); ++pair) {
      const unsigned low = pair / half * 2 * half + pair % half;
      const std::size_t entry = (std::size_t{1} << (stage + t)) + (g << t) + pair / half;
      forward_pair(x[low], x[low + half], of.roots[entry], of.quotients[entry], q);
    }
  }
}
template <unsigned Steps>
inline void inverse_steps(word* x, unsigned stage, std::size_t g, const ntt_item<word>& of,
                          const modulus& q) {
  for (unsigned t = Steps; t-- > 0;) {
    const unsigned half = 1U << (Steps - 1 - t);
    for (unsigned pair = 0; pair < 1U << (Steps - 1); ++pair) {
      const unsigned low = pair / half * 2 * half + pair % half;
      const std::size_t entry = (std::size_t{1} << (stage + t)) + (g << t) + pair / half;
      inverse_pair(x[low], x[low + half], of.roots[entry], of.quotients[entry], q);
    }
  }
}

/// Where unit `u` of a stage is: its group, its first word, and the distance of its words.
struct unit_place {
  std::size_t group, first, apart;
  /// @param log_words log2 of the words of a group of the stage
  unit_place(std::size_t u, unsigned log_words, unsigned steps)
      : group(u >> (log_words - steps)),
        first((group << log_words) + (u & ((std::size_t{1} << (log_words - steps)) - 1))),
        apart(std::size_t{1} << (log_words - steps)) {}
};

/// The last word of a transform.
inline word finish_forward(word x, const modulus& q) {
  if (x >= 2 * q.value) x -= 2 * q.value;
  return x >= q.value ? x - q.value : x;
}
inline word finish_inverse(word x, const ntt_item<word>& of, const modulus& q) {
  return arith::mul_shoup(x, of.roots[0], of.quotients[0], q);
}

/// One step through global memory: a work item has one unit.
template <unsigned Steps, bool Forward>
inline void global_step(const ntt_launch<word>& p) {
  const unsigned log_units = p.limbs.log_n - Steps;
  const ntt_item<word> of = p.limbs.items[global_id() >> log_units];
  const modulus q = *of.q;
  const std::size_t u = global_id() & ((std::size_t{1} << log_units) - 1);
  const unit_place at(u, p.limbs.log_n - p.stage, Steps);
  word x[1U << Steps];
  for (unsigned i = 0; i < 1U << Steps; ++i) x[i] = of.src[at.first + i * at.apart];
  if constexpr (Forward) {
    forward_steps<Steps>(x, p.stage, at.group, of, q);
  } else {
    inverse_steps<Steps>(x, p.stage, at.group, of, q);
  }
  for (unsigned i = 0; i < 1U << Steps; ++i) {
    of.dst[at.first + i * at.apart] = !Forward && p.last != 0 ? finish_inverse(x[i], of, q) : x[i];
  }
}

HALOCLINE_KERNEL(halocline_ntt_global_1, ntt_launch<word>) { global_step<1, true>(*p); }
HALOCLINE_KERNEL(halocline_ntt_global_2, ntt_launch<word>) { global_step<2, true>(*p); }
HALOCLINE_KERNEL(halocline_ntt_global_3, ntt_launch<word>) { global_step<3, true>(*p); }
HALOCLINE_KERNEL(halocline_intt_global_1, ntt_launch<word>) { global_step<1, false>(*p); }
HALOCLINE_KERNEL(halocline_intt_global_2, ntt_launch<word>) { global_step<2, false>(*p); }
HALOCLINE_KERNEL(halocline_intt_global_3, ntt_launch<word>) { global_step<3, false>(*p); }

/// A tile: the words of one group of stage `stage`, which stay in local memory for all later stages.
struct tile {
  word* words;
  std::size_t number;  ///< of its limb
  unsigned stage;
  unsigned log_words;
};

/// One step from stage `at.stage + done` on, within local memory.
template <unsigned Steps, bool Forward>
inline void local_step(const tile& at, unsigned done, const ntt_item<word>& of, const modulus& q) {
  const std::size_t units = std::size_t{1} << (at.log_words - Steps);
  for (std::size_t u = local_id(); u < units; u += group_size()) {
    const unit_place place(u, at.log_words - done, Steps);
    const std::size_t g = (at.number << done) + place.group;
    word x[1U << Steps];
    for (unsigned i = 0; i < 1U << Steps; ++i) x[i] = at.words[place.first + i * place.apart];
    if constexpr (Forward) {
      forward_steps<Steps>(x, at.stage + done, g, of, q);
    } else {
      inverse_steps<Steps>(x, at.stage + done, g, of, q);
    }
    for (unsigned i = 0; i < 1U << Steps; ++i) at.words[place.first + i * place.apart] = x[i];
  }
  barrier();
}

template <bool Forward>
inline void local_step_of(unsigned steps, const tile& at, unsigned done, const ntt_item<word>& of,
                          const modulus& q) {
  if (steps == 3) return local_step<3, Forward>(at, done, of, q);
  if (steps == 2) return local_step<2, Forward>(at, done, of, q);
  local_step<1, Forward>(at, done, of, q);
}

/// All stages from `p.stage` on; a group of work items has one tile. The first step takes what is no multiple
/// of three stages.
template <bool Forward>
inline void tile_stages(const ntt_launch<word>& p, word* words) {
  const unsigned log_words = p.limbs.log_n - p.stage;
  const ntt_item<word> of = p.limbs.items[group_id() >> p.stage];
  const modulus q = *of.q;
  const tile at{words, group_id() & ((std::size_t{1} << p.stage) - 1), p.stage, log_words};
  const std::size_t first = at.number << log_words;
  const std::size_t count = std::size_t{1} << log_words;
  for (std::size_t i = local_id(); i < count; i += group_size()) words[i] = of.src[first + i];
  barrier();
  const unsigned odd = log_words % most_steps;
  if constexpr (Forward) {
    if (odd != 0) local_step_of<true>(odd, at, 0, of, q);
    for (unsigned done = odd; done < log_words; done += most_steps) local_step<3, true>(at, done, of, q);
  } else {
    for (unsigned done = log_words; done > odd; done -= most_steps) {
      local_step<3, false>(at, done - most_steps, of, q);
    }
    if (odd != 0) local_step_of<false>(odd, at, 0, of, q);
  }
  for (std::size_t i = local_id(); i < count; i += group_size()) {
    const word x = words[i];
    of.dst[first + i] = p.last == 0 ? x : Forward ? finish_forward(x, q) : finish_inverse(x, of, q);
  }
}

HALOCLINE_KERNEL(halocline_ntt_tile, ntt_launch<word>) {
  local_memory<word[1U << log_tile]> words;
  tile_stages<true>(*p, &words[0]);
}
HALOCLINE_KERNEL(halocline_intt_tile, ntt_launch<word>) {
  local_memory<word[1U << log_tile]> words;
  tile_stages<false>(*p, &words[0]);
}

}  // namespace halocline::sycl_kernels
