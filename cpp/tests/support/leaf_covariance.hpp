// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

/// The covariance of the noise of all leaves of an expansion, and records that follow it.
namespace halocline::test {

/// Noise of 2^depth leaves of N coefficients, in units of the variance of a key switch; that of the query,
/// which is small beside it, is left out. Public parameters determine it.
class leaf_covariance {
 public:
  using vector = std::vector<double>;  ///< leaf by leaf, N coefficients each

  leaf_covariance(std::size_t n, unsigned depth) : n_(n), depth_(depth) {}

  [[nodiscard]] std::size_t size() const noexcept { return n_ << depth_; }
  /// Sum of the variances.
  [[nodiscard]] double trace() const noexcept {
    const double leaves = static_cast<double>(std::size_t{1} << depth_);
    return static_cast<double>(n_) * leaves * (leaves - 1);
  }
  /// The covariance times a vector: level by level to the root and back. A level makes c + turned and
  /// (c - turned) X^-k of c, with turned = c(X^g) + noise.
  [[nodiscard]] vector times(vector of) const {
    std::vector<vector> noise(depth_ + 1);
    for (unsigned level = depth_; level >= 1; --level) {
      vector parents(of.size() / 2);
      noise[level].resize(parents.size());
      for (std::size_t i = 0; i < parents.size(); ++i) {
        const std::size_t node = i / n_, j = i % n_;
        const double even = of[2 * node * n_ + j],
                     odd = times_monomial(&of[(2 * node + 1) * n_], shift(level), j);
        parents[i] += even + odd;
        noise[level][i] = even - odd;
      }
      for (std::size_t i = 0; i < parents.size(); ++i) {
        const auto [to, sign] = turned(i % n_, level);
        parents[i] += sign * noise[level][i - i % n_ + to];
      }
      of = std::move(parents);
    }
    of.assign(n_, 0);
    for (unsigned level = 1; level <= depth_; ++level) of = children(of, noise[level], level);
    return of;
  }
  /// Signs that make the variance of their product with the noise large, by powers.
  [[nodiscard]] vector worst_signs(std::uint32_t seed) const {
    std::mt19937 random(seed);
    vector signs(size());
    for (double& each : signs) each = random() % 2 == 0 ? 1 : -1;
    for (int round = 0; round < 12; ++round) {
      signs = times(std::move(signs));
      for (double& each : signs) each = each < 0 ? -1 : 1;
    }
    return signs;
  }

 private:
  struct place {
    std::size_t index;
    double sign;
  };
  [[nodiscard]] static std::size_t shift(unsigned level) noexcept { return std::size_t{1} << (level - 1); }
  /// X^j -> X^(j g) with g = N / 2^(level - 1) + 1.
  [[nodiscard]] place turned(std::size_t j, unsigned level) const noexcept {
    const std::size_t to = j * ((n_ >> (level - 1)) + 1) % (2 * n_);
    return {to % n_, to < n_ ? 1.0 : -1.0};
  }
  /// Coefficient j of X^k times a polynomial.
  [[nodiscard]] double times_monomial(const double* of, std::size_t k, std::size_t j) const noexcept {
    return j >= k ? of[j - k] : -of[j + n_ - k];
  }
  [[nodiscard]] vector children(const vector& of, const vector& noise, unsigned level) const {
    vector turn = noise, made(2 * of.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto [to, sign] = turned(i % n_, level);
      turn[i - i % n_ + to] += sign * of[i];
    }
    const std::size_t k = shift(level);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const std::size_t node = i / n_, j = i % n_;
      made[2 * node * n_ + j] = of[i] + turn[i];
      const std::size_t to = j >= k ? j - k : j + n_ - k;  // X^-k
      made[(2 * node + 1) * n_ + to] = (j >= k ? 1 : -1) * (of[i] - turn[i]);
    }
    return made;
  }

  std::size_t n_;
  unsigned depth_;
};

}  // namespace halocline::test
