// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/detail/device_copy.h"
#include "seal/dynarray.h"
#include "seal/encryptionparams.h"
#include "seal/memorymanager.h"
#include "seal/randomgen.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"
#include "seal/util/uintcore.h"

namespace seal {

namespace halocline_detail {
struct ciphertext_access;
}  // namespace halocline_detail

/// Polynomials modulo the primes of `parms_id`: words in the order [polynomial][prime][coefficient].
class Ciphertext {
 public:
  using ct_coeff_type = std::uint64_t;

  /// Empty. @throws std::invalid_argument for no pool
  Ciphertext(MemoryPoolHandle pool = MemoryManager::GetPool()) : data_(std::move(pool)) {}
  /// Empty, with memory for two polynomials of the first data parameters.
  /// @throws std::invalid_argument when the context's parameters are not valid
  explicit Ciphertext(const SEALContext& context, MemoryPoolHandle pool = MemoryManager::GetPool())
      : Ciphertext(std::move(pool)) {
    reserve(context, 2);
  }
  explicit Ciphertext(const SEALContext& context, parms_id_type parms_id,
                      MemoryPoolHandle pool = MemoryManager::GetPool())
      : Ciphertext(std::move(pool)) {
    reserve(context, parms_id, 2);
  }
  explicit Ciphertext(const SEALContext& context, parms_id_type parms_id, std::size_t size_capacity,
                      MemoryPoolHandle pool = MemoryManager::GetPool())
      : Ciphertext(std::move(pool)) {
    reserve(context, parms_id, size_capacity);
  }
  Ciphertext(const Ciphertext& copy) : Ciphertext(copy, copy.pool()) {}
  /// The source is empty afterwards.
  Ciphertext(Ciphertext&& source) noexcept;
  Ciphertext(const Ciphertext& copy, MemoryPoolHandle pool) : Ciphertext(std::move(pool)) { operator=(copy); }
  Ciphertext& operator=(const Ciphertext& assign);
  Ciphertext& operator=(Ciphertext&& assign) noexcept;

  /// Memory for so many polynomials, and the parameters; polynomials that are there stay, up to that number.
  /// @throws std::invalid_argument for parameters that are not valid, a parms_id of others, or a number that
  /// is
  ///   neither 0 nor 2 to 16
  void reserve(const SEALContext& context, parms_id_type parms_id, std::size_t size_capacity);
  void reserve(const SEALContext& context, std::size_t size_capacity) {
    reserve(context, context.first_parms_id(), size_capacity);
  }
  void reserve(std::size_t size_capacity);
  /// Number of polynomials; new ones are 0.
  void resize(const SEALContext& context, parms_id_type parms_id, std::size_t size);
  void resize(const SEALContext& context, std::size_t size) {
    resize(context, context.first_parms_id(), size);
  }
  void resize(std::size_t size);
  /// Back to the state of a new object; memory is given back.
  void release() noexcept;

  /// The words, null without any. They are brought from the device first; mutable access makes those of the
  /// device void, for as long as no operation of the evaluator uses the object: ask again before you write
  /// afterwards.
  [[nodiscard]] ct_coeff_type* data() { return own().data(); }
  [[nodiscard]] const ct_coeff_type* data() const { return host().data(); }
  /// Polynomial `poly_index`. @throws std::out_of_range
  [[nodiscard]] ct_coeff_type* data(std::size_t poly_index);
  [[nodiscard]] const ct_coeff_type* data(std::size_t poly_index) const;
  /// Word `coeff_index` of all. @throws std::out_of_range
  [[nodiscard]] ct_coeff_type& operator[](std::size_t coeff_index) { return own().at(coeff_index); }
  [[nodiscard]] const ct_coeff_type& operator[](std::size_t coeff_index) const {
    return host().at(coeff_index);
  }
  [[nodiscard]] const DynArray<ct_coeff_type>& dyn_array() const { return host(); }

  [[nodiscard]] std::size_t coeff_modulus_size() const noexcept { return coeff_modulus_size_; }
  [[nodiscard]] std::size_t poly_modulus_degree() const noexcept { return poly_modulus_degree_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_capacity() const noexcept;
  /// Whether all polynomials but the first are 0: then it hides nothing. So is an empty one.
  [[nodiscard]] bool is_transparent() const;

  /// Whether `save` writes a seed in place of polynomial 1. Only objects within a `Serializable` do.
  [[nodiscard]] bool contains_seed() const noexcept { return seed_ != nullptr; }

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  /// Reads without comparing residues with the parameters; a seed is expanded.
  /// @throws std::logic_error for damaged contents; std::runtime_error when the stream fails or ends
  std::streamoff unsafe_load(const SEALContext& context, std::istream& stream);
  std::streamoff unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size);
  /// Reads an object that belongs to the parameters. @throws also std::logic_error for one that does not
  std::streamoff load(const SEALContext& context, std::istream& stream);
  std::streamoff load(const SEALContext& context, const seal_byte* in, std::size_t size);

  [[nodiscard]] const bool& is_ntt_form() const noexcept { return is_ntt_form_; }
  [[nodiscard]] bool& is_ntt_form() noexcept { return is_ntt_form_; }
  [[nodiscard]] parms_id_type& parms_id() noexcept { return parms_id_; }
  [[nodiscard]] const parms_id_type& parms_id() const noexcept { return parms_id_; }
  [[nodiscard]] double& scale() noexcept { return scale_; }
  [[nodiscard]] const double& scale() const noexcept { return scale_; }
  /// Of BGV; 1 otherwise.
  [[nodiscard]] std::uint64_t& correction_factor() noexcept { return correction_factor_; }
  [[nodiscard]] const std::uint64_t& correction_factor() const noexcept { return correction_factor_; }
  [[nodiscard]] MemoryPoolHandle pool() const noexcept { return data_.pool(); }

  /// Marks the object for the first GPU: operations run there, and their results are marked too.
  Ciphertext& gpu();
  [[nodiscard]] bool on_gpu() const noexcept;
  /// Marks the object for a device: "cpu", "cuda:0", ...
  Ciphertext& to(const std::string& device);

 private:
  friend struct halocline_detail::ciphertext_access;
  /// The words, up to date; and to be changed.
  DynArray<ct_coeff_type>& host() const {
    device_.to_host(data_, size_ * poly_modulus_degree_ * coeff_modulus_size_);
    return data_;
  }
  [[nodiscard]] DynArray<ct_coeff_type>& own() {
    host();
    device_.drop();
    seed_.reset();
    return data_;
  }
  void set_room(std::size_t capacity, std::size_t n, std::size_t primes);
  void set_count(std::size_t size, std::size_t n, std::size_t primes);

  parms_id_type parms_id_ = parms_id_zero;
  bool is_ntt_form_ = false;
  std::size_t size_ = 0;
  std::size_t poly_modulus_degree_ = 0;
  std::size_t coeff_modulus_size_ = 0;
  double scale_ = 1.0;
  std::uint64_t correction_factor_ = 1;
  mutable DynArray<ct_coeff_type> data_;
  mutable halocline_detail::device_copy device_;
  std::shared_ptr<const UniformRandomGeneratorInfo> seed_;  ///< what polynomial 1 is expanded from
};

}  // namespace seal
