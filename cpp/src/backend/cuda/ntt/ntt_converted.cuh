// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/ntt/ntt_reduced_words.cuh"
#include "halocline/backend/descriptors.hpp"

/// Base conversion of a few limbs in the first phase of a transform: what that reads is computed from the
/// sources, word by word, instead of written by one kernel and read by the next. For host and device.
namespace halocline::backend::cuda {

/// Makes words of one limb of one polynomial; constants as in `conversion_table`.
template <unsigned sources, typename WordT>
class converted_words {
 public:
  HALOCLINE_HOST_DEVICE converted_words(const combine_params<WordT>& params, const ntt_place<WordT>& place,
                                        std::uint32_t poly)
      : start_(place.src) {
    const combine_group<WordT>& group = params.groups.items[place.group];
    const WordT* const table = params.table;
    const WordT* const factors =
        table + 3 * sources + static_cast<std::size_t>(group.target + place.limb) * (sources + 1);
    const arith::modulus<WordT>& target = params.moduli[group.prime + place.limb];
    q_ = target.value;
    neg_inv_ = target.neg_inv;
    HALOCLINE_UNROLL
    for (unsigned s = 0; s < sources; ++s) {
      from_[s] = group.from[poly][s];
      inverse_[s] = table[s];
      quotient_[s] = table[sources + s];
      reciprocal_[s] = table[2 * sources + s];
      d_[s] = params.moduli[params.source_primes[s]].value;
      factor_[s] = factors[s];
    }
    factor_[sources] = factors[sources];
  }

  /// The words that `on` begins a forward transform with, as `ntt_thread::load` reads them. A few at a time,
  /// so that their loads are under way together and registers suffice.
  template <unsigned e, unsigned k>
  HALOCLINE_HOST_DEVICE void load(const ntt_thread<WordT, e, k>& on, WordT (&x)[1U << e]) const {
    constexpr unsigned together = 1U << (e - 2);
    const std::size_t first = static_cast<std::size_t>(on.src - start_) +
                              (static_cast<std::size_t>(on.position(0, 0)) << on.log_stride);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 1U << e; i += together) {
      WordT in[together][sources];
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < together; ++j) {
        HALOCLINE_UNROLL
        for (unsigned s = 0; s < sources; ++s) in[j][s] = (from_[s] + first)[(i + j) * on.step(0)];
      }
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < together; ++j) x[i + j] = converted(in[j]);
    }
  }

 private:
  using wide = arith::double_word<WordT>;

  /// Below (2 + sources 2^(2 - w)) q, w the bits of a word, hence a word that a transform may begin with: the
  /// sum is at most q (2^w + sources), as four sources are below 2^w together.
  [[nodiscard]] HALOCLINE_HOST_DEVICE WordT converted(const WordT (&x)[sources]) const {
    constexpr unsigned w = 8 * sizeof(WordT), shift = reciprocal_shift(w);
    wide fraction = wide{1} << (shift - 1), sum = 0;
    HALOCLINE_UNROLL
    for (unsigned s = 0; s < sources; ++s) {
      const WordT y = reduce_once<WordT>(x[s] * inverse_[s] - mul_high(x[s], quotient_[s]) * d_[s], d_[s]);
      fraction += static_cast<wide>(y) * reciprocal_[s];
      sum += static_cast<wide>(y) * factor_[s];
    }
    sum += static_cast<wide>(static_cast<WordT>(fraction >> shift)) * factor_[sources];
    const WordT m = static_cast<WordT>(sum) * neg_inv_;
    return static_cast<WordT>((sum + static_cast<wide>(m) * q_) >> w);
  }

  const WordT* start_;
  const WordT* from_[sources];
  WordT inverse_[sources], quotient_[sources], reciprocal_[sources], d_[sources], factor_[sources + 1];
  WordT q_, neg_inv_;
};

/// Loads the first words of a forward transform, which are converted or reduced ones where there are
/// `sources`.
template <unsigned sources, typename WordT, typename ParamsT>
class first_words {
  using source = std::conditional_t<sources == reduced_source, reduced_words<WordT>,
                                    converted_words<sources == reduced_source ? 1 : sources, WordT>>;

 public:
  template <typename PlaceT>
  HALOCLINE_HOST_DEVICE first_words(const ParamsT& params, const PlaceT& place, std::uint32_t poly)
      : from_(params, place, poly) {}
  template <typename ThreadT, unsigned count>
  HALOCLINE_HOST_DEVICE void load(const ThreadT& on, WordT (&x)[count]) const {
    from_.load(on, x);
  }

 private:
  source from_;
};
template <typename WordT, typename ParamsT>
class first_words<0, WordT, ParamsT> {
 public:
  template <typename PlaceT>
  HALOCLINE_HOST_DEVICE first_words(const ParamsT&, const PlaceT&, std::uint32_t) {}
  template <typename ThreadT, unsigned count>
  HALOCLINE_HOST_DEVICE void load(const ThreadT& on, WordT (&x)[count]) const {
    on.load(0, x);
  }
};

}  // namespace halocline::backend::cuda
