// SPDX-License-Identifier: Apache-2.0
#include "ckks/coefficient_lift.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <vector>

#include "halocline/ring/arith.hpp"

namespace halocline::ckks {
namespace {

/// Coefficients that are lifted together; their digits stay in the first-level cache.
constexpr std::size_t batch = 256;

/// Constants that eliminate digit j from residue i: (x + offset - v_j) / q_j mod q_i.
template <typename WordT>
struct elimination {
  WordT offset;  ///< a multiple of q_i that keeps the difference positive
  WordT inverse;
  WordT quotient;
};

/// x = v_0 + q_0 (v_1 + q_1 (v_2 + ...)) with |v_i| < q_i / 2: such digits exist and are unique for every x
/// between
/// -D/2 and D/2, D the (odd) product of the q_i. Primes are taken from the last to the first of a window.
template <typename WordT>
class mixed_radix {
 public:
  explicit mixed_radix(std::span<const std::uint64_t> primes) {
    for (std::size_t i = primes.size(); i-- > 0;) {
      moduli_.push_back(ring::make_modulus(static_cast<WordT>(primes[i])));
    }
    for (std::size_t i = 0; i < moduli_.size(); ++i) {
      const ring::modulus<WordT>& q = moduli_[i];
      for (std::size_t j = 0; j < i; ++j) {
        const WordT other = moduli_[j].value;
        const WordT inverse = ring::inverse_mod(static_cast<WordT>(other % q.value), q);
        const WordT offset = static_cast<WordT>((other / 2 + q.value - 1) / q.value * q.value);
        steps_.push_back({offset, inverse, ring::shoup_quotient(inverse, q)});
      }
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return moduli_.size(); }

  /// Residues in rows of `batch` to digits (two's complement) in their place.
  void digits(WordT* rows) const {
    const elimination<WordT>* step = steps_.data();
    for (std::size_t i = 0; i < count(); ++i) {
      const ring::modulus<WordT> q = moduli_[i];
      WordT* const __restrict row = rows + i * batch;
      for (std::size_t j = 0; j < i; ++j, ++step) {
        const elimination<WordT> s = *step;
        const WordT* const __restrict digit = rows + j * batch;
        for (std::size_t c = 0; c < batch; ++c) {
          row[c] =
              ring::mul_shoup(static_cast<WordT>(row[c] + s.offset - digit[c]), s.inverse, s.quotient, q);
        }
      }
      const WordT half = q.value / 2;
      for (std::size_t c = 0; c < batch; ++c) row[c] -= row[c] > half ? q.value : WordT{0};
    }
  }

  /// Values of digits (Horner's rule), divided by `scale`.
  void values(const WordT* rows, double scale, double* out) const {
    using signed_word = std::make_signed_t<WordT>;
    for (std::size_t c = 0; c < batch; ++c) out[c] = 0.0;
    for (std::size_t i = count(); i-- > 0;) {
      const auto q = static_cast<double>(moduli_[i].value);
      for (std::size_t c = 0; c < batch; ++c) {
        out[c] = out[c] * q + static_cast<double>(static_cast<signed_word>(rows[i * batch + c]));
      }
    }
    for (std::size_t c = 0; c < batch; ++c) out[c] /= scale;
  }

 private:
  std::vector<ring::modulus<WordT>> moduli_;
  std::vector<elimination<WordT>> steps_;  ///< (1, 0), (2, 0), (2, 1), (3, 0), ...
};

/// Collects `count` coefficients from `first` on into rows, last prime first; unused places become 0.
template <typename WordT>
void gather(const WordT* limbs, std::size_t limb_count, std::size_t n, std::size_t first, std::size_t stride,
            std::size_t count, WordT* rows) {
  for (std::size_t i = 0; i < limb_count; ++i) {
    const WordT* const limb = limbs + (limb_count - 1 - i) * n + first * stride;
    WordT* const row = rows + i * batch;
    for (std::size_t c = 0; c < count; ++c) row[c] = limb[c * stride];
    std::fill(row + count, row + batch, WordT{0});
  }
}

template <typename WordT>
bool lift(context& ctx, const backend::limb_view& source, bool guarded, std::size_t stride, double scale,
          std::span<double> out) {
  const std::size_t n = ctx.tables().n();
  const auto limbs = std::make_unique_for_overwrite<WordT[]>(source.primes.count * n);
  ctx.device().download(std::as_writable_bytes(std::span(limbs.get(), source.primes.count * n)), *source.data,
                        source.limb * ctx.tables().limb_bytes());
  if (ctx.runtime().is_ghost()) {
    std::fill(out.begin(), out.end(), 0.0);
    return true;
  }
  const mixed_radix<WordT> radix(ctx.parameters().primes().subspan(source.primes.first, source.primes.count));
  std::vector<WordT> rows(radix.count() * batch);
  std::vector<double> values(batch);
  for (std::size_t first = 0; first < out.size(); first += batch) {
    const std::size_t count = std::min(batch, out.size() - first);
    gather(limbs.get(), radix.count(), n, first, stride, count, rows.data());
    radix.digits(rows.data());
    if (guarded && std::any_of(rows.end() - batch, rows.end(), [](WordT digit) { return digit != 0; }))
      return false;
    radix.values(rows.data(), scale, values.data());
    std::copy_n(values.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return true;
}

}  // namespace

lift_plan plan_lift(const params::parameters& parameters, backend::window available, double magnitude_bits) {
  const std::span<const std::uint64_t> primes = parameters.primes();
  double bits = 0.0;
  std::uint32_t count = 0;
  while (bits < magnitude_bits + 1.0 && count < available.count) {
    ++count;
    bits += std::log2(static_cast<double>(primes[available.end() - count]));
  }
  if (count + 1 >= available.count) return {available, false};
  return {{available.end() - count - 1, count + 1}, true};
}

bool lift_coefficients(context& ctx, const backend::limb_view& source, bool guarded, std::size_t stride,
                       double scale, std::span<double> out) {
  return ctx.tables().word_bits == 32 ? lift<std::uint32_t>(ctx, source, guarded, stride, scale, out)
                                      : lift<std::uint64_t>(ctx, source, guarded, stride, scale, out);
}

}  // namespace halocline::ckks
