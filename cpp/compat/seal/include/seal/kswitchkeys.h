// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/detail/keys_slot.h"
#include "seal/publickey.h"
#include "seal/util/defines.h"

namespace seal {

namespace halocline_detail {
struct keys_access;
}  // namespace halocline_detail

/// Keys that switch: for each index none, or one public key for each data prime.
class KSwitchKeys {
 public:
  KSwitchKeys(MemoryPoolHandle pool = MemoryManager::GetPool()) : pool_(std::move(pool)) {
    if (!pool_)
      throw std::invalid_argument("KSwitchKeys: the memory pool is uninitialized; pass a valid handle");
  }
  KSwitchKeys(const KSwitchKeys&) = default;
  KSwitchKeys(KSwitchKeys&&) = default;
  KSwitchKeys& operator=(const KSwitchKeys&) = default;
  KSwitchKeys& operator=(KSwitchKeys&&) = default;

  /// Number of indices that have a key.
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(keys_.begin(), keys_.end(), [](const auto& key) { return !key.empty(); }));
  }
  /// All indices. Mutable access makes copies on devices void; operations of other threads finish with
  /// theirs.
  [[nodiscard]] std::vector<std::vector<PublicKey>>& data() noexcept {
    device_.reset();
    return keys_;
  }
  [[nodiscard]] const std::vector<std::vector<PublicKey>>& data() const noexcept { return keys_; }
  /// @throws std::invalid_argument for an index that has no key
  [[nodiscard]] std::vector<PublicKey>& data(std::size_t index) {
    device_.reset();
    return const_cast<std::vector<PublicKey>&>(std::as_const(*this).data(index));
  }
  [[nodiscard]] const std::vector<PublicKey>& data(std::size_t index) const {
    if (index >= keys_.size() || keys_[index].empty()) {
      throw std::invalid_argument("KSwitchKeys: there is no key at index " + std::to_string(index));
    }
    return keys_[index];
  }
  [[nodiscard]] parms_id_type& parms_id() noexcept { return parms_id_; }
  [[nodiscard]] const parms_id_type& parms_id() const noexcept { return parms_id_; }
  [[nodiscard]] MemoryPoolHandle pool() const noexcept { return pool_; }

  /// Marks the keys for a device, as `Ciphertext::to`: what is computed with them runs there.
  KSwitchKeys& gpu();
  [[nodiscard]] bool on_gpu() const noexcept { return !place_.empty(); }
  KSwitchKeys& to(const std::string& device);

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff unsafe_load(const SEALContext& context, std::istream& stream);
  std::streamoff unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size);
  std::streamoff load(const SEALContext& context, std::istream& stream);
  std::streamoff load(const SEALContext& context, const seal_byte* in, std::size_t size);

 private:
  friend struct halocline_detail::keys_access;

  MemoryPoolHandle pool_;
  parms_id_type parms_id_ = parms_id_zero;
  std::vector<std::vector<PublicKey>> keys_;
  mutable halocline_detail::keys_slot device_;
  std::string place_;  ///< mark
};

}  // namespace seal
