// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/kswitchkeys.h"
#include "seal/plaintext.h"
#include "seal/serializable.h"

/// Doors for the library itself into objects; not for programs.
namespace seal::halocline_detail {

struct ciphertext_access {
  [[nodiscard]] static device_copy& device(const Ciphertext& of) noexcept { return of.device_; }
  /// The host's words as they are: out of date where the device has newer ones.
  [[nodiscard]] static DynArray<std::uint64_t>& words(Ciphertext& of) noexcept { return of.data_; }
  /// Sets everything but the words; they and the copy on the device stay.
  static void set_shape(Ciphertext& of, const parms_id_type& parms_id, std::size_t size, std::size_t n,
                        std::size_t primes, double scale, bool is_ntt_form) noexcept {
    of.parms_id_ = parms_id;
    of.size_ = size;
    of.poly_modulus_degree_ = n;
    of.coeff_modulus_size_ = primes;
    of.scale_ = scale;
    of.is_ntt_form_ = is_ntt_form;
    of.correction_factor_ = 1;
    of.seed_.reset();
  }
  /// Says that polynomial 1 is what this generator expands to, so that `save` writes the seed in its place.
  /// Any mutable access to the words afterwards forgets it.
  static void set_seed(Ciphertext& of, const UniformRandomGeneratorInfo& seed) {
    of.seed_ = std::make_shared<const UniformRandomGeneratorInfo>(seed);
  }
  [[nodiscard]] static const UniformRandomGeneratorInfo* seed(const Ciphertext& of) noexcept {
    return of.seed_.get();
  }
};

struct plaintext_access {
  [[nodiscard]] static device_copy& device(const Plaintext& of) noexcept { return of.device_; }
  [[nodiscard]] static DynArray<std::uint64_t>& words(Plaintext& of) noexcept { return of.data_; }
  /// Sets everything but the words. `count` words; `parms_id_zero` outside NTT form.
  static void set_shape(Plaintext& of, const parms_id_type& parms_id, std::size_t count,
                        double scale) noexcept {
    of.parms_id_ = parms_id;
    of.coeff_count_ = count;
    of.scale_ = scale;
  }
};

struct keys_access {
  [[nodiscard]] static keys_slot& device(const KSwitchKeys& of) noexcept { return of.device_; }
  /// Mark, "" for none.
  [[nodiscard]] static const std::string& place(const KSwitchKeys& of) noexcept { return of.place_; }
};

struct context_access {
  /// The slot in which the evaluator keeps what it needs for each device, shared by all copies of a context;
  /// guarded by `engines_mutex`.
  [[nodiscard]] static std::shared_ptr<engines>& slot(const SEALContext& of) noexcept;
  [[nodiscard]] static std::mutex& engines_mutex(const SEALContext& of) noexcept;
};

struct serializable_access {
  template <typename T>
  [[nodiscard]] static Serializable<T> make(T&& object) {
    return Serializable<T>(std::move(object));
  }
};

}  // namespace seal::halocline_detail
