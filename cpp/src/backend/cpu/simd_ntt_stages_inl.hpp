// SPDX-License-Identifier: Apache-2.0
// Butterflies on vectors, in registers. Compiled once per instruction set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_NTT_STAGES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_NTT_STAGES_INL
#undef HALOCLINE_SIMD_NTT_STAGES_INL
#else
#define HALOCLINE_SIMD_NTT_STAGES_INL
#endif

#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/simd_arith_inl.hpp"
#include "backend/cpu/simd_exchange_inl.hpp"
#include "hwy/cache_control.h"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Whether the factors of the two lanes of a 64-bit pair are equal, which saves a shift.
enum class lane_factors { paired, single };

template <lane_factors Kind, typename WordT>
HWY_INLINE vec<WordT> multiply_lazy(const lazy_prime<WordT>& f, vec<WordT> x, const factor<WordT>& w) {
  if constexpr (Kind == lane_factors::paired) {
    return f.mul_paired(x, w.value, w.quotient);
  } else {
    return f.mul(x, w.value, w.quotient);
  }
}

/// Hides how v was computed: otherwise GCC turns c - (a - b) into c + (b - a) and computes both differences.
template <typename V>
HWY_INLINE V opaque(V v) {
#if (HWY_COMPILER_GCC || HWY_COMPILER_CLANG) && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

/// (x, y) = (x + w y, x - w y); in and out [0, 2B).
template <lane_factors Kind, typename WordT>
HWY_INLINE void forward_butterfly(const lazy_prime<WordT>& f, vec<WordT>& x, vec<WordT>& y,
                                  const factor<WordT>& w) {
  const vec<WordT> low = f.reduce(x);
  const vec<WordT> product = opaque(multiply_lazy<Kind>(f, y, w));
  x = hn::Add(low, product);
  y = hn::Sub(hn::Add(low, f.bound), product);
}

/// (x, y) = (x + y, w (x - y)); in and out [0, B).
template <lane_factors Kind, typename WordT>
HWY_INLINE void inverse_butterfly(const lazy_prime<WordT>& f, vec<WordT>& x, vec<WordT>& y,
                                  const factor<WordT>& w) {
  const vec<WordT> difference = hn::Sub(hn::Add(x, f.bound), y);
  x = f.reduce(hn::Add(x, y));
  y = multiply_lazy<Kind>(f, difference, w);
}

/// Twiddle factors of `Stages` stages of one group. Stage s has 2^s of them, at table entry (group << s) + k.
template <typename WordT, unsigned Stages>
struct group_factors {
  factor<WordT> w[(1U << Stages) - 1];

  HWY_INLINE group_factors(const WordT* roots, const WordT* quotients, std::size_t group) {
    HWY_UNROLL(16)
    for (unsigned s = 0; s < Stages; ++s) {
      HWY_UNROLL(16)
      for (unsigned k = 0; k < (1U << s); ++k) {
        const std::size_t entry = (group << s) + k;
        w[(1U << s) - 1 + k] = broadcast_factor(roots[entry], quotients[entry]);
      }
    }
  }
  [[nodiscard]] HWY_INLINE const factor<WordT>& at(unsigned stage, unsigned k) const {
    return w[(1U << stage) - 1 + k];
  }
};

/// Forward stages on 2^Stages vectors that lie one butterfly half-length apart.
template <unsigned Stages, typename WordT>
HWY_INLINE void forward_stages(const lazy_prime<WordT>& f, vec<WordT>* x,
                               const group_factors<WordT, Stages>& w) {
  HWY_UNROLL(16)
  for (unsigned s = 0; s < Stages; ++s) {
    const unsigned half = 1U << (Stages - 1 - s);
    HWY_UNROLL(16)
    for (unsigned i = 0; i < (1U << (Stages - 1)); ++i) {
      const unsigned k = i / half;
      const unsigned left = 2 * k * half + i % half;
      forward_butterfly<lane_factors::paired>(f, x[left], x[left + half], w.at(s, k));
    }
  }
}

/// Inverse stages Stages - 1, ..., Last on 2^Stages vectors.
template <unsigned Stages, unsigned Last, typename WordT>
HWY_INLINE void inverse_stages(const lazy_prime<WordT>& f, vec<WordT>* x,
                               const group_factors<WordT, Stages>& w) {
  HWY_UNROLL(16)
  for (unsigned done = 0; done < Stages - Last; ++done) {
    const unsigned s = Stages - 1 - done;
    const unsigned half = 1U << (Stages - 1 - s);
    HWY_UNROLL(16)
    for (unsigned i = 0; i < (1U << (Stages - 1)); ++i) {
      const unsigned k = i / half;
      const unsigned left = 2 * k * half + i % half;
      inverse_butterfly<lane_factors::paired>(f, x[left], x[left + half], w.at(s, k));
    }
  }
}

/// Stages inside a vector, on two vectors of consecutive words at a time so that every lane works. Each stage
/// is preceded (inverse: followed) by an exchange that puts the left inputs of all butterflies into one
/// vector and the right inputs into the other, groups in table order; hence the factors of half-length h are
/// a run of the table, each repeated h times. After the last exchange one vector holds the even and the other
/// the odd words.
template <typename WordT>
class vector_stages {
  static constexpr std::size_t lanes = hn::MaxLanes(tag<WordT>());
  using index = hwy::MakeSigned<WordT>;
  using indices = decltype(hn::SetTableIndices(tag<WordT>(), static_cast<const index*>(nullptr)));

 public:
  HWY_INLINE vector_stages(const WordT* roots, const WordT* quotients, std::size_t n)
      : roots_(roots), quotients_(quotients), n_(n), by_2_(repeat(2)), by_4_(repeat(4)), by_8_(repeat(8)) {}

  /// Prefetches the factors that `forward` or `inverse` needs for `Vectors` vectors at word `first`.
  template <std::size_t Vectors>
  HWY_INLINE void prefetch(std::size_t first) const {
    constexpr std::size_t line = 64 / sizeof(WordT);
    HWY_UNROLL(4)
    for (std::size_t half = 1; half < lanes; half *= 2) {
      const std::size_t entry = (n_ + first) / (2 * half);
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < Vectors * lanes / (2 * half); i += line) {
        hwy::Prefetch(roots_ + entry + i);
        hwy::Prefetch(quotients_ + entry + i);
      }
    }
  }

  /// In: words [first, first + vectors * lanes) in x, all in [0, 2B). Out: of each two vectors, the first
  /// holds the even and the second the odd words. All pairs go through a stage together, to hide the latency
  /// of a butterfly.
  template <std::size_t Vectors, std::size_t Half = lanes / 2>
  HWY_INLINE void forward(const lazy_prime<WordT>& f, std::size_t first, vec<WordT>* x) const {
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < Vectors; i += 2) {
      exchange_runs<Half, WordT>(x[i], x[i + 1]);
      forward_butterfly<kind<Half>>(f, x[i], x[i + 1], factors<Half>(first + i * lanes));
    }
    if constexpr (Half > 1) forward<Vectors, Half / 2>(f, first, x);
  }

  /// The reverse of `forward`, values in [0, B).
  template <std::size_t Vectors, std::size_t Half = lanes / 2>
  HWY_INLINE void inverse(const lazy_prime<WordT>& f, std::size_t first, vec<WordT>* x) const {
    if constexpr (Half > 1) inverse<Vectors, Half / 2>(f, first, x);
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < Vectors; i += 2) {
      inverse_butterfly<kind<Half>>(f, x[i], x[i + 1], factors<Half>(first + i * lanes));
      exchange_runs<Half, WordT>(x[i], x[i + 1]);
    }
  }

 private:
  template <std::size_t Half>
  static constexpr lane_factors kind = Half == 1 ? lane_factors::single : lane_factors::paired;

  static HWY_INLINE indices repeat(std::size_t times) {
    HWY_ALIGN index which[lanes];
    for (std::size_t i = 0; i < lanes; ++i) which[i] = static_cast<index>(i / times);
    return hn::SetTableIndices(tag<WordT>(), which);
  }

  /// Factors of the stage with half-length `Half` for the 2 lanes words from `first` on.
  template <std::size_t Half>
  HWY_INLINE factor<WordT> factors(std::size_t first) const {
    const std::size_t entry = (n_ + first) / (2 * Half);
    const vec<WordT> value = load(roots_ + entry);
    const vec<WordT> quotient = load(quotients_ + entry);
    if constexpr (Half == 1) return {value, quotient};
    const indices& which = Half == 2 ? by_2_ : Half == 4 ? by_4_ : by_8_;
    return {hn::TableLookupLanes(value, which), hn::TableLookupLanes(quotient, which)};
  }

  const WordT* roots_;
  const WordT* quotients_;
  std::size_t n_;
  indices by_2_, by_4_, by_8_;
};

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_NTT_STAGES_INL
