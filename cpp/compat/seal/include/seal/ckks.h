// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/memorymanager.h"
#include "seal/plaintext.h"
#include "seal/util/defines.h"

namespace seal {

namespace halocline_detail {
/// Types of messages.
template <typename T>
inline constexpr bool is_slot_type =
    std::is_same_v<std::remove_cv_t<T>, double> || std::is_same_v<std::remove_cv_t<T>, std::complex<double>>;
}  // namespace halocline_detail

/// Encodes vectors of N/2 real or complex numbers to plaintexts, and back. A number is multiplied by the
/// scale and rounded, so a larger scale gives more digits.
///
/// All throw std::invalid_argument for a parms_id or plaintext of other parameters, no pool, a scale that is
/// not positive or has as many bits as the modulus, more values than slots, values that are not finite or too
/// large for the modulus.
class CKKSEncoder {
 public:
  /// @throws std::invalid_argument unless the context's parameters are valid, and CKKS
  CKKSEncoder(const SEALContext& context);

  /// At the first data parameters, or at `parms_id`. Slots without a value are 0.
  template <typename T, typename = std::enable_if_t<halocline_detail::is_slot_type<T>>>
  void encode(const std::vector<T>& values, parms_id_type parms_id, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encode_slots(values.data(), values.size(), parms_id, scale, destination, pool);
  }
  template <typename T, typename = std::enable_if_t<halocline_detail::is_slot_type<T>>>
  void encode(const std::vector<T>& values, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encode(values, context_.first_parms_id(), scale, destination, std::move(pool));
  }
#if __cplusplus >= 202002L
  template <typename T, std::size_t extent, typename = std::enable_if_t<halocline_detail::is_slot_type<T>>>
  void encode(std::span<T, extent> values, parms_id_type parms_id, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encode_slots(values.data(), values.size(), parms_id, scale, destination, pool);
  }
  template <typename T, std::size_t extent, typename = std::enable_if_t<halocline_detail::is_slot_type<T>>>
  void encode(std::span<T, extent> values, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encode(values, context_.first_parms_id(), scale, destination, std::move(pool));
  }
#endif

  /// One number in all slots.
  void encode(double value, parms_id_type parms_id, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void encode(double value, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encode(value, context_.first_parms_id(), scale, destination, std::move(pool));
  }
  void encode(std::complex<double> value, parms_id_type parms_id, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void encode(std::complex<double> value, double scale, Plaintext& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    encode(value, context_.first_parms_id(), scale, destination, std::move(pool));
  }
  /// An integer in all slots, exactly, with scale 1.
  void encode(std::int64_t value, parms_id_type parms_id, Plaintext& destination) const;
  void encode(std::int64_t value, Plaintext& destination) const {
    encode(value, context_.first_parms_id(), destination);
  }

  /// All slots; real parts where the destination has real numbers.
  template <typename T, typename = std::enable_if_t<halocline_detail::is_slot_type<T>>>
  void decode(const Plaintext& plain, std::vector<T>& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    const std::vector<std::complex<double>> slots = decode_slots(plain, pool);
    destination.resize(slots.size());
    std::transform(slots.begin(), slots.end(), destination.begin(), to_slot<T>);
  }
#if __cplusplus >= 202002L
  /// @throws std::invalid_argument also unless the destination has as many elements as there are slots
  template <typename T, std::size_t extent, typename = std::enable_if_t<halocline_detail::is_slot_type<T>>>
  void decode(const Plaintext& plain, std::span<T, extent> destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const {
    const std::vector<std::complex<double>> slots = decode_slots(plain, pool);
    if (destination.size() != slots.size()) {
      throw std::invalid_argument("decode: the destination has " + std::to_string(destination.size()) +
                                  " elements; expected " + std::to_string(slots.size()));
    }
    std::transform(slots.begin(), slots.end(), destination.begin(), to_slot<T>);
  }
#endif

  /// N/2.
  [[nodiscard]] std::size_t slot_count() const noexcept { return slots_; }

 private:
  template <typename T>
  [[nodiscard]] static T to_slot(const std::complex<double>& from) {
    if constexpr (std::is_same_v<T, double>) {
      return from.real();
    } else {
      return from;
    }
  }
  void encode_slots(const double* values, std::size_t count, parms_id_type parms_id, double scale,
                    Plaintext& destination, const MemoryPoolHandle& pool) const;
  void encode_slots(const std::complex<double>* values, std::size_t count, parms_id_type parms_id,
                    double scale, Plaintext& destination, const MemoryPoolHandle& pool) const;
  [[nodiscard]] std::vector<std::complex<double>> decode_slots(const Plaintext& plain,
                                                               const MemoryPoolHandle& pool) const;

  SEALContext context_;
  std::size_t slots_ = 0;
};

}  // namespace seal
