// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/modulus.hpp"
#include "halocline/arith/uniform_stream.hpp"

/// Kernels of the CPU backend: plain functions on pointers to one limb, or a range of one, that do not depend
/// on buffers, jobs or threads. There is one table of them per instruction set and word.
namespace halocline::backend::cpu {

struct retrieval_kernels;

/// A prime with its NTT tables of N words each (layout: `ring_tables::roots`).
template <typename WordT>
struct prime_tables {
  const arith::modulus<WordT>* q = nullptr;
  const WordT* roots = nullptr;
  const WordT* root_quotients = nullptr;
  const WordT* inverse_roots = nullptr;  ///< entry 0 is N^-1
  const WordT* inverse_root_quotients = nullptr;
  unsigned log_n = 0;
};

/// Constants of a base conversion, resolved from `conversion_table`.
template <typename WordT>
struct conversion {
  std::size_t sources = 0;  ///< k
  std::size_t targets = 0;
  const arith::modulus<WordT>* const* source_moduli = nullptr;
  const arith::modulus<WordT>* const* target_moduli = nullptr;
  const WordT* inverses = nullptr;           ///< k: (D / d_i)^-1 mod d_i
  const WordT* inverse_quotients = nullptr;  ///< k: their Shoup quotients
  const WordT* reciprocals = nullptr;        ///< k: floor(2^s / d_i)
  const WordT* factors = nullptr;            ///< targets x (k + 1), Montgomery form
};

/// One digit of a key multiplication, on the limb of one prime.
template <typename WordT>
struct key_operand {
  const WordT* digit = nullptr;
  const WordT* b = nullptr;
  const WordT* a = nullptr;      ///< nullptr: expand `source`
  arith::uniform_limb source{};  ///< of this prime
};

/// What a key multiplication adds to its two sums, on the limb of one prime.
template <typename WordT>
struct key_addend {
  const WordT* first = nullptr;   ///< nullptr: nothing
  const WordT* second = nullptr;  ///< nullptr: nothing
  WordT factor = 0;               ///< Montgomery form
};

/// How a limb modulo one prime becomes one modulo another.
template <typename WordT>
struct reduction {
  WordT source = 0;      ///< the prime of the limb
  bool centred = false;  ///< values above (source - 1) / 2 stand for negative ones
};

/// Words [begin, begin + count) of a limb. `begin` is a multiple of `range_alignment` and so is `count`,
/// unless the range is the whole of a smaller limb.
struct word_range {
  std::size_t begin = 0;
  std::size_t count = 0;
};
inline constexpr std::size_t range_alignment = arith::words_per_group<std::uint32_t>;

/// The functions of one instruction set. All residues are reduced. `dst` may be a source where the
/// descriptors allow it. Counts are powers of two or multiples of `range_alignment`.
template <typename WordT>
struct kernel_set {
  using mod = arith::modulus<WordT>;

  const char* target = "";  ///< instruction set, readable

  void (*ntt)(WordT* dst, const WordT* src, const prime_tables<WordT>& tables);
  void (*intt)(WordT* dst, const WordT* src, const prime_tables<WordT>& tables);
  /// dst = factor_a * a + factor_b * ntt(b); overwrites b.
  void (*ntt_linear_combine)(WordT* dst, const WordT* a, WordT* b, WordT factor_a, WordT factor_b,
                             const prime_tables<WordT>& tables);
  /// dst = ntt of src, reduced; where a is not nullptr factor_a * a + factor_b * that. dst is none of them.
  void (*ntt_reduced)(WordT* dst, const WordT* src, const WordT* a, WordT factor_a, WordT factor_b,
                      const reduction<WordT>& from, const prime_tables<WordT>& tables);

  void (*add)(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const mod& q);
  void (*sub)(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const mod& q);
  void (*negate)(WordT* dst, const WordT* src, std::size_t count, const mod& q);
  void (*multiply)(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const mod& q);
  void (*multiply_add)(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const mod& q);
  void (*scalar_multiply)(WordT* dst, const WordT* src, WordT factor, std::size_t count, const mod& q);
  void (*scalar_add)(WordT* dst, const WordT* src, WordT summand, std::size_t count, const mod& q);
  void (*linear_combine)(WordT* dst, const WordT* a, const WordT* b, WordT factor_a, WordT factor_b,
                         std::size_t count, const mod& q);
  /// Pointers address the first word of a limb. Each word of b[t] stands for 2^repeats[t].
  void (*dot)(WordT* dst, const WordT* const* a, const WordT* const* b, const std::uint8_t* repeats,
              std::size_t terms, bool accumulate, std::size_t offset, std::size_t count, const mod& q);
  /// d = {d0, d1, d2}, a = {a0, a1}, b = {b0, b1}, starting at word `offset`.
  void (*tensor)(WordT* const* d, const WordT* const* a, const WordT* const* b, std::size_t offset,
                 std::size_t count, const mod& q);
  /// dst[j] = src[permutation[j]]; the permutation maps aligned blocks onto aligned blocks
  /// (`automorphism_job`).
  void (*automorphism)(WordT* dst, const WordT* src, const std::uint32_t* permutation, std::size_t count);

  void (*base_convert)(WordT* const* dst, const WordT* const* src, word_range range,
                       const conversion<WordT>& c);
  /// Pointers address the first word of a limb; `range` is of dst. With a permutation (as that of
  /// `automorphism`; nullptr: none) its sizes are powers of two.
  void (*key_multiply_accumulate)(WordT* dst0, WordT* dst1, const key_operand<WordT>* digits,
                                  std::size_t terms, const key_addend<WordT>& plus, bool accumulate,
                                  const std::uint32_t* permutation, word_range range, const mod& q);
  /// `coefficients`: count times `words` 64-bit words of a signed integer.
  void (*encode_expand)(WordT* dst, const std::uint64_t* coefficients, unsigned words, std::size_t count,
                        const mod& q);
  /// dst points to the first word of the limb.
  void (*sample_uniform)(WordT* dst, const arith::uniform_limb& source, word_range range, const mod& q);
  /// Of private retrieval: 32-bit words only.
  const retrieval_kernels* retrieval;
};

/// The specification: plain C++ from arith/arith.hpp.
template <typename WordT>
[[nodiscard]] const kernel_set<WordT>& scalar_kernels();

/// Kernels for the best instruction set that Highway finds on this machine. An instruction set without vector
/// kernels gets the specification; `target` says so.
template <typename WordT>
[[nodiscard]] kernel_set<WordT> simd_kernels();

}  // namespace halocline::backend::cpu
