// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/ntt/ntt_kernels.cuh"

/// Reduction of a limb modulo another prime in the first phase of a transform. For host and device.
namespace halocline::backend::cuda {

/// Makes words of one limb of one polynomial of those of a limb modulo the prime p. What is below a
/// transform's bound less q needs no reduction; other words take a Montgomery product by 2^w mod q. Negative
/// integers are greater by p in the limb.
template <typename WordT>
class reduced_words {
 public:
  template <typename ParamsT, typename PlaceT>
  HALOCLINE_HOST_DEVICE reduced_words(const ParamsT& params, const PlaceT& place, std::uint32_t poly)
      : start_(place.src) {
    const auto& group = params.groups.items[place.group];
    const std::uint32_t prime = group.prime + place.limb;
    const WordT source = params.moduli[group.by[poly].prime].value;
    from_ = group.from[poly][0];
    q_ = params.moduli[prime].value;
    neg_inv_ = params.moduli[prime].neg_inv;
    r_ = params.moduli[prime].r;
    product_ = source / (sizeof(WordT) == 8 ? 7 : 3) >= q_;
    half_ = group.by[poly].centred ? source / 2 : source;
    wrapped_ = q_ - reduce_once(scaled(source), q_);
  }

  /// The words that `on` begins a forward transform with.
  template <typename ThreadT, unsigned count>
  HALOCLINE_HOST_DEVICE void load(const ThreadT& on, WordT (&x)[count]) const {
    const std::size_t first = static_cast<std::size_t>(on.src - start_) +
                              (static_cast<std::size_t>(on.position(0, 0)) << on.log_stride);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < count; ++i) x[i] = (from_ + first)[i * on.step(0)];
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < count; ++i) {
      x[i] = (product_ ? scaled(x[i]) : x[i]) + (x[i] > half_ ? wrapped_ : 0);
    }
  }

 private:
  /// x mod q, in [0, 2q).
  [[nodiscard]] HALOCLINE_HOST_DEVICE WordT scaled(WordT x) const {
    const WordT low = x * r_, m = low * neg_inv_;
    return mul_high(x, r_) + mul_high(m, q_) + (low != 0 ? 1 : 0);
  }

  const WordT* start_;
  const WordT* from_;
  WordT q_, neg_inv_, r_, half_, wrapped_;
  bool product_;
};

}  // namespace halocline::backend::cuda
