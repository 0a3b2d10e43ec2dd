// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "seal/encryptionparams.h"
#include "seal/memorymanager.h"
#include "seal/modulus.h"
#include "seal/util/defines.h"

namespace seal {

/// What parameters allow, and why not.
class EncryptionParameterQualifiers {
 public:
  enum class error_type : int {
    none = -1,  ///< not checked yet
    success = 0,
    invalid_scheme = 1,
    invalid_coeff_modulus_size = 2,
    invalid_coeff_modulus_bit_count = 3,
    invalid_coeff_modulus_no_ntt = 4,
    invalid_poly_modulus_degree = 5,
    invalid_poly_modulus_degree_non_power_of_two = 6,
    invalid_parameters_too_large = 7,
    invalid_parameters_insecure = 8,
    failed_creating_rns_base = 9,
    invalid_plain_modulus_bit_count = 10,
    invalid_plain_modulus_coprimality = 11,
    invalid_plain_modulus_too_large = 12,
    invalid_plain_modulus_nonzero = 13,
    failed_creating_rns_tool = 14,
    invalid_coeff_modulus_non_prime = 15
  };

  EncryptionParameterQualifiers() = default;

  error_type parameter_error = error_type::none;
  /// "success", or the name of the error.
  [[nodiscard]] const char* parameter_error_name() const noexcept;
  /// "valid", or a sentence.
  [[nodiscard]] const char* parameter_error_message() const noexcept;
  [[nodiscard]] bool parameters_set() const noexcept { return parameter_error == error_type::success; }

  bool using_fft = false;                       ///< the ring degree is a power of two
  bool using_ntt = false;                       ///< all primes are 1 modulo 2 N
  bool using_batching = false;                  ///< the plaintext modulus is a prime that is 1 modulo 2 N
  bool using_fast_plain_lift = false;           ///< the plaintext modulus is below every prime
  bool using_descending_modulus_chain = false;  ///< primes fall
  sec_level_type sec_level = sec_level_type::none;
};

namespace halocline_detail {
class engines;
struct context_access;
}  // namespace halocline_detail

/// Checked parameters and those that follow from them by dropping primes, which form a list: key parameters
/// with all primes, the first data parameters without the special prime (the last), and so on. Copies share
/// the contents.
class SEALContext {
 public:
  /// One set of parameters of the list.
  class ContextData {
   public:
    ContextData() = delete;
    ContextData(const ContextData&) = delete;
    ContextData& operator=(const ContextData&) = delete;

    [[nodiscard]] const EncryptionParameters& parms() const noexcept { return parms_; }
    [[nodiscard]] const parms_id_type& parms_id() const noexcept { return parms_.parms_id(); }
    [[nodiscard]] EncryptionParameterQualifiers qualifiers() const noexcept { return qualifiers_; }
    /// Product of the primes: as many words as there are primes, the least first.
    [[nodiscard]] const std::uint64_t* total_coeff_modulus() const noexcept {
      return total_coeff_modulus_.data();
    }
    [[nodiscard]] int total_coeff_modulus_bit_count() const noexcept {
      return total_coeff_modulus_bit_count_;
    }
    /// BFV and BGV: (t + 1) / 2 with the plaintext modulus t; from there on coefficients stand for negative
    /// numbers. CKKS: 2^63.
    [[nodiscard]] std::uint64_t plain_upper_half_threshold() const noexcept {
      return plain_upper_half_threshold_;
    }
    /// BFV and BGV: the product of the primes less t, modulo each prime, or as words of a number where t is
    /// above a prime. CKKS: -2^64 modulo each prime. As many words as primes.
    [[nodiscard]] const std::uint64_t* plain_upper_half_increment() const noexcept {
      return plain_upper_half_increment_.data();
    }
    /// CKKS: (Q + 1) / 2, Q the product of the primes; null in other schemes.
    [[nodiscard]] const std::uint64_t* upper_half_threshold() const noexcept {
      return upper_half_threshold_.empty() ? nullptr : upper_half_threshold_.data();
    }
    /// BFV: Q modulo t, modulo each prime; null in other schemes.
    [[nodiscard]] const std::uint64_t* upper_half_increment() const noexcept {
      return upper_half_increment_.empty() ? nullptr : upper_half_increment_.data();
    }
    /// BFV and BGV: Q modulo t; 0 in CKKS.
    [[nodiscard]] std::uint64_t coeff_modulus_mod_plain_modulus() const noexcept {
      return coeff_modulus_mod_plain_modulus_;
    }
    /// With one prime more; none for the key parameters.
    [[nodiscard]] std::shared_ptr<const ContextData> prev_context_data() const noexcept {
      return prev_.lock();
    }
    /// With one prime less; none at the end of the list.
    [[nodiscard]] std::shared_ptr<const ContextData> next_context_data() const noexcept { return next_; }
    /// 0 at the end of the list.
    [[nodiscard]] std::size_t chain_index() const noexcept { return chain_index_; }

   private:
    friend class SEALContext;
    explicit ContextData(EncryptionParameters parms) : parms_(std::move(parms)) {}
    void set_plain_constants();

    EncryptionParameters parms_;
    EncryptionParameterQualifiers qualifiers_;
    std::vector<std::uint64_t> total_coeff_modulus_;
    int total_coeff_modulus_bit_count_ = 0;
    std::uint64_t plain_upper_half_threshold_ = 0;
    std::vector<std::uint64_t> plain_upper_half_increment_;
    std::vector<std::uint64_t> upper_half_threshold_;
    std::vector<std::uint64_t> upper_half_increment_;
    std::uint64_t coeff_modulus_mod_plain_modulus_ = 0;
    std::weak_ptr<const ContextData> prev_;
    std::shared_ptr<const ContextData> next_;
    std::size_t chain_index_ = 0;
  };

  /// Does not throw for bad parameters: `parameters_set` is false then, and `parameter_error_message` says
  /// why.
  /// @param expand_mod_chain whether there are parameters after the first data parameters
  SEALContext(const EncryptionParameters& parms, bool expand_mod_chain = true,
              sec_level_type sec_level = sec_level_type::tc128);

  SEALContext(const SEALContext&) = default;
  SEALContext& operator=(const SEALContext&) = default;
  /// The source is empty afterwards: it has no parameters, so `parameters_set` is false.
  SEALContext(SEALContext&& source) noexcept;
  SEALContext& operator=(SEALContext&& source) noexcept;
  ~SEALContext() = default;

  /// None for a name that is not in the list.
  [[nodiscard]] std::shared_ptr<const ContextData> get_context_data(parms_id_type parms_id) const;
  [[nodiscard]] std::shared_ptr<const ContextData> key_context_data() const;
  [[nodiscard]] std::shared_ptr<const ContextData> first_context_data() const;
  [[nodiscard]] std::shared_ptr<const ContextData> last_context_data() const;

  [[nodiscard]] bool parameters_set() const;
  [[nodiscard]] const char* parameter_error_name() const;
  [[nodiscard]] const char* parameter_error_message() const;

  [[nodiscard]] const parms_id_type& key_parms_id() const noexcept;
  [[nodiscard]] const parms_id_type& first_parms_id() const noexcept;
  [[nodiscard]] const parms_id_type& last_parms_id() const noexcept;
  /// Whether there is a special prime.
  [[nodiscard]] bool using_keyswitching() const noexcept;

 private:
  friend struct halocline_detail::context_access;
  struct contents;
  /// Those of moved-from contexts.
  [[nodiscard]] static const std::shared_ptr<contents>& nothing() noexcept;

  [[nodiscard]] static std::shared_ptr<ContextData> validate(const EncryptionParameters& parms,
                                                             sec_level_type sec_level);
  [[nodiscard]] static std::shared_ptr<ContextData> expand(contents& to, std::shared_ptr<ContextData> prev,
                                                           sec_level_type sec_level);

  std::shared_ptr<contents> contents_;
};

}  // namespace seal
