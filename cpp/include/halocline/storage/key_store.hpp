// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/io/byte_source.hpp"
#include "halocline/storage/manifest.hpp"
#include "halocline/storage/object_store.hpp"

namespace halocline::storage {

/// A store was reached and has no keys of a user.
class unknown_user : public io_error {
 public:
  using io_error::io_error;
};

/// The evaluation keys of many users in an object store: for each user a folder with one container
/// (io/key_file.hpp) and one manifest, which is written last. Nothing in the store is trusted. Thread-safe.
class key_store {
 public:
  /// @param quota_bytes that the keys of one user may have; 0: no quota
  key_store(std::shared_ptr<object_store> objects, const store_options& options,
            std::uint64_t quota_bytes = 0)
      : objects_(std::move(objects)), options_(options), quota_(quota_bytes) {}

  /// Puts the keys of a user, in place of those that are there. They are checked first: the whole container
  /// is verified. Readers see the old keys or the new ones; a writer that is killed changes neither, and may
  /// leave an object that nothing refers to, which the next `put`, `clean` or `remove` takes away. Of several
  /// writers at once, in a folder one waits for the other; on a server that has conditions (If-Match) one of
  /// them fails; on others, see docs/reference/key_store_format.md.
  /// @throws invalid_argument for a name that is none, a container of another kind, keys that name no secret
  ///   key; corrupt_data; io_error, also when the quota is exceeded
  manifest put(const std::string& user, std::span<const std::byte> container);
  /// The manifest of a user's keys.
  /// @param root the digest that it must have, or nothing
  /// @param key the secret key that the keys must be for, or nothing
  /// @throws io_error when the store has no such user; corrupt_data for a manifest that is not valid or has
  ///   another digest; key_mismatch for keys of another secret key
  [[nodiscard]] manifest find(const std::string& user, const std::optional<std::string>& root = {},
                              const std::optional<std::string>& key = {});
  /// The container of a manifest. What is read is verified against the manifest before it is used; a block
  /// that does not match is fetched once more.
  [[nodiscard]] std::shared_ptr<const io::byte_source> open(manifest of);
  /// Fetches all keys of a user and compares every block with the manifest; nothing is kept. Arguments and
  /// errors as `find`.
  /// @throws io_error, corrupt_data also for what the container is found to be
  manifest check(const std::string& user, const std::optional<std::string>& root = {},
                 const std::optional<std::string>& key = {});
  /// Names of all users that have keys, ascending.
  [[nodiscard]] std::vector<std::string> users();
  /// Bytes that a user's objects have in the store.
  [[nodiscard]] std::uint64_t bytes(const std::string& user);
  /// Removes containers of a user that the manifest does not name: what killed writers left. On a server, not
  /// while the user's keys are put.
  /// @return how many objects and files were removed
  /// @throws corrupt_data when the manifest is not valid: nothing is removed then
  std::size_t clean(const std::string& user);
  /// Removes everything of a user, the manifest first; whether there was something.
  bool remove(const std::string& user);

  [[nodiscard]] std::uint64_t quota() const noexcept { return quota_; }
  [[nodiscard]] object_store& objects() const noexcept { return *objects_; }

 private:
  /// Writes container and manifest, and removes what was there before.
  void publish(const manifest& made, std::span<const std::byte> container, std::span<const std::byte> encoded,
               bool is_shared);

  std::shared_ptr<object_store> objects_;
  store_options options_;
  std::uint64_t quota_;
};

}  // namespace halocline::storage
