// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halocline/ckks/keys.hpp"

namespace halocline::ckks {

/// Hands out evaluation keys by Galois element. Implementations may hold keys in memory, in a file or
/// elsewhere.
class key_set {
 public:
  virtual ~key_set() = default;
  /// The key for `galois_element` (1: relinearization, 2: encapsulation), usable at `level`, which may be a
  /// lowered one (`parameters::lowered_offset`): its `parameters::key_level` counts.
  /// @throws missing_key naming the rotation, conjugation or relinearization and how to add it.
  [[nodiscard]] virtual const evaluation_key& get(std::uint64_t galois_element, unsigned level) = 0;
  /// Whether `get` would succeed.
  [[nodiscard]] virtual bool contains(std::uint64_t galois_element, unsigned level) const = 0;
  /// What is there, ascending by element.
  [[nodiscard]] virtual std::vector<key_request> list() const = 0;
};

/// A key of a set for an operation on a ciphertext of the secret key `key`, which becomes that of the result.
/// @throws missing_key as `key_set::get`; key_mismatch when the evaluation key is for another secret key
[[nodiscard]] const evaluation_key& matching_key(key_set& keys, std::uint64_t galois_element, unsigned level,
                                                 key_id& key, const char* operation);

/// Keys in the memory of one runtime.
class memory_key_set final : public key_set {
 public:
  /// An empty set, of keys for the secret key `id` where it is known.
  explicit memory_key_set(params::parameters parameters, const key_id& id = {})
      : parameters_(std::move(parameters)), id_(id) {}

  /// The secret key that the keys are for: as given, or that of the first key that has an identifier.
  [[nodiscard]] const key_id& id() const noexcept { return id_; }
  /// Adds a key; one for the same element is replaced.
  /// @throws invalid_argument when it was made for other parameters; key_mismatch when it is for another
  ///   secret key than the set
  void add(evaluation_key key);
  /// Frees the uniform halves of a key, where it is there and has seeds for them: it is seeded then.
  void drop_uniform_halves(std::uint64_t galois_element);
  [[nodiscard]] const evaluation_key& get(std::uint64_t galois_element, unsigned level) override;
  [[nodiscard]] bool contains(std::uint64_t galois_element, unsigned level) const override;
  [[nodiscard]] std::vector<key_request> list() const override;
  [[nodiscard]] const std::map<std::uint64_t, evaluation_key>& keys() const noexcept { return keys_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  params::parameters parameters_;
  key_id id_;
  std::map<std::uint64_t, evaluation_key> keys_;
};

/// Whether keys of these parameters can have that element: odd and below 2N, or `encapsulation_element`.
[[nodiscard]] bool is_key_element(const params::parameters& parameters, std::uint64_t element);

/// The step in (-N/4, N/4] whose Galois element is `galois_element`, or nothing when it is no rotation.
[[nodiscard]] std::optional<std::int64_t> rotation_of(const params::parameters& parameters,
                                                      std::uint64_t galois_element);

/// Readable name of a key: "relinearization key", "rotation key for step 5", "conjugation key",
/// "encapsulation key".
[[nodiscard]] std::string describe_key(const params::parameters& parameters, std::uint64_t galois_element);

}  // namespace halocline::ckks
