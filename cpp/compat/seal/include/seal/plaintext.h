// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/detail/device_copy.h"
#include "seal/dynarray.h"
#include "seal/encryptionparams.h"
#include "seal/memorymanager.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"

namespace seal {

namespace halocline_detail {
struct plaintext_access;
}  // namespace halocline_detail

/// An encoded message. In CKKS: N residues modulo each prime of `parms_id`, in the order
/// [prime][coefficient], in NTT form, with a scale. In BFV and BGV: coefficients modulo the plaintext
/// modulus.
class Plaintext {
 public:
  using pt_coeff_type = std::uint64_t;

  /// 0. @throws std::invalid_argument for no pool
  Plaintext(MemoryPoolHandle pool = MemoryManager::GetPool()) : data_(std::move(pool)) {}
  /// `coeff_count` coefficients 0.
  explicit Plaintext(std::size_t coeff_count, MemoryPoolHandle pool = MemoryManager::GetPool())
      : coeff_count_(coeff_count), data_(coeff_count, std::move(pool)) {}
  /// @throws std::invalid_argument when the capacity is below the count
  explicit Plaintext(std::size_t capacity, std::size_t coeff_count,
                     MemoryPoolHandle pool = MemoryManager::GetPool())
      : coeff_count_(coeff_count), data_(capacity, coeff_count, std::move(pool)) {}
  /// See `operator=(const std::string &)`.
  Plaintext(const std::string& hex_poly, MemoryPoolHandle pool = MemoryManager::GetPool())
      : data_(std::move(pool)) {
    operator=(hex_poly);
  }
#if __cplusplus >= 202002L
  /// Coefficients, the constant one first.
  explicit Plaintext(std::span<const pt_coeff_type> coeffs, MemoryPoolHandle pool = MemoryManager::GetPool())
      : coeff_count_(coeffs.size()),
        data_(coeffs.data(), coeffs.size(), coeffs.size(), false, std::move(pool)) {}
#endif
  Plaintext(const Plaintext& copy) : Plaintext(copy, copy.pool()) {}
  /// The source is empty afterwards.
  Plaintext(Plaintext&& source) noexcept;
  Plaintext(const Plaintext& copy, MemoryPoolHandle pool) : Plaintext(std::move(pool)) { operator=(copy); }
  Plaintext& operator=(const Plaintext& assign);
  Plaintext& operator=(Plaintext&& assign) noexcept;
  /// Reads a polynomial such as "7FFx^3 + 1x^1 + 3": coefficients are hexadecimal, exponents decimal and
  /// falling, and an exponent 0 is left out.
  /// @throws std::invalid_argument for another form, or exponents too large
  Plaintext& operator=(const std::string& hex_poly);
  /// A constant polynomial.
  Plaintext& operator=(pt_coeff_type const_coeff);

  /// Memory for so many coefficients, and the count no more than that.
  /// @throws std::logic_error in NTT form
  void reserve(std::size_t capacity);
  void shrink_to_fit();
  /// Back to the state of a new object; memory is given back.
  void release() noexcept;
  /// New coefficients are 0. @throws std::logic_error in NTT form
  void resize(std::size_t coeff_count);
  /// Sets coefficients to 0. @throws std::out_of_range for coefficients that are not there
  void set_zero(std::size_t start_coeff, std::size_t length);
  void set_zero(std::size_t start_coeff);
  void set_zero();

  /// The coefficients. They are brought from the device first; mutable access makes those of the device void,
  /// for as long as no operation of the evaluator uses the object: ask again before you write afterwards.
  [[nodiscard]] pt_coeff_type* data() { return own().data(); }
  [[nodiscard]] const pt_coeff_type* data() const { return host().data(); }
  /// @throws std::out_of_range
  [[nodiscard]] pt_coeff_type* data(std::size_t coeff_index);
  [[nodiscard]] const pt_coeff_type* data(std::size_t coeff_index) const;
  [[nodiscard]] const DynArray<pt_coeff_type>& dyn_array() const { return host(); }
  [[nodiscard]] const pt_coeff_type& operator[](std::size_t coeff_index) const {
    return host().at(coeff_index);
  }
  [[nodiscard]] pt_coeff_type& operator[](std::size_t coeff_index) { return own().at(coeff_index); }

  /// Outside NTT form, coefficients 0 at the end do not count.
  [[nodiscard]] bool operator==(const Plaintext& compare) const;
  [[nodiscard]] bool operator!=(const Plaintext& compare) const { return !operator==(compare); }
  [[nodiscard]] bool is_zero() const;
  [[nodiscard]] std::size_t capacity() const noexcept { return data_.capacity(); }
  [[nodiscard]] std::size_t coeff_count() const noexcept { return coeff_count_; }
  /// Coefficients without those that are 0 at the end.
  [[nodiscard]] std::size_t significant_coeff_count() const;
  [[nodiscard]] std::size_t nonzero_coeff_count() const;
  /// As `operator=` reads it. @throws std::invalid_argument in NTT form
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  /// Reads without comparing with the parameters.
  /// @throws std::logic_error for damaged contents; std::runtime_error when the stream fails or ends
  std::streamoff unsafe_load(const SEALContext& context, std::istream& stream);
  std::streamoff unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size);
  /// Reads an object that belongs to the parameters. @throws also std::logic_error for one that does not
  std::streamoff load(const SEALContext& context, std::istream& stream);
  std::streamoff load(const SEALContext& context, const seal_byte* in, std::size_t size);

  [[nodiscard]] bool is_ntt_form() const noexcept { return parms_id_ != parms_id_zero; }
  /// `parms_id_zero` outside NTT form.
  [[nodiscard]] parms_id_type& parms_id() noexcept { return parms_id_; }
  [[nodiscard]] const parms_id_type& parms_id() const noexcept { return parms_id_; }
  [[nodiscard]] double& scale() noexcept { return scale_; }
  [[nodiscard]] const double& scale() const noexcept { return scale_; }
  [[nodiscard]] MemoryPoolHandle pool() const noexcept { return data_.pool(); }

  /// Marks the object for the first GPU: operations run there, and their results are marked too.
  Plaintext& gpu();
  [[nodiscard]] bool on_gpu() const noexcept;
  /// Marks the object for a device: "cpu", "cuda:0", ...
  Plaintext& to(const std::string& device);

 private:
  friend struct halocline_detail::plaintext_access;
  /// The words, up to date; and to be changed.
  DynArray<pt_coeff_type>& host() const {
    device_.to_host(data_, coeff_count_);
    return data_;
  }
  [[nodiscard]] DynArray<pt_coeff_type>& own() {
    host();
    device_.drop();
    return data_;
  }

  parms_id_type parms_id_ = parms_id_zero;
  std::size_t coeff_count_ = 0;
  double scale_ = 1.0;
  mutable DynArray<pt_coeff_type> data_;
  mutable halocline_detail::device_copy device_;
};

}  // namespace seal
