// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

/// Named byte strings in a folder, on a web server or in a bucket, read by ranges. Names are made of parts of
/// letters, digits and `._@-`, joined by '/'. What comes out of a store is not trusted: `key_store` verifies
/// it.
namespace halocline::storage {

/// How to talk to a store on a network. A folder uses none of it.
struct store_options {
  unsigned connections = 8;         ///< at once, for one call; 1 to 64
  double deadline_seconds = 120.0;  ///< for one call, with all its retries
  double connect_seconds = 10.0;    ///< until a connection stands
  double stall_seconds = 10.0;      ///< a connection without a byte for so long counts as cut
  unsigned attempts = 6;            ///< that bring no byte, one after the other, until a call gives up
  double backoff_seconds = 0.1;     ///< pause before the second attempt; doubles, up to 5 s, with jitter
  std::size_t part_bytes = std::size_t{4} << 20;  ///< of one request of a longer read
  std::string endpoint;  ///< S3: URL of a server other than AWS; empty: AWS_ENDPOINT_URL(_S3)
  std::string region;    ///< S3: empty: AWS_REGION, AWS_DEFAULT_REGION, us-east-1
};

/// What a store has transferred since it was opened.
struct store_counts {
  std::uint64_t requests = 0;    ///< sent, with retries
  std::uint64_t retries = 0;     ///< of them, sent because another one had failed
  std::uint64_t resumed = 0;     ///< of them, for the rest of a range whose connection was cut
  std::uint64_t read_bytes = 0;  ///< contents received
  std::uint64_t sent_bytes = 0;  ///< contents sent
};

/// An entry of a listing.
struct store_entry {
  std::string name;  ///< without the folder
  bool is_folder = false;
  std::uint64_t bytes = 0;  ///< of an object
};

/// A part of an object, and where it goes.
struct range_read {
  std::uint64_t offset = 0;
  std::span<std::byte> dst;
};

/// Called by the reading thread while a part of a read arrives, and when it is complete: with the number of
/// the part, and how many of its bytes, from its begin, are there and stay as they are.
using part_progress = std::function<void(std::size_t part, std::size_t bytes)>;

/// Which version of an object is there.
struct object_version {
  bool exists = false;
  std::string tag;  ///< what the store calls it; empty when it does not say
};

/// One writer at a time while it lives; given up by the system when the process ends.
class write_lock {
 public:
  virtual ~write_lock() = default;
};

/// A store of objects. Thread-safe. All functions throw io_error when the store cannot be reached, refuses,
/// or does not do it before the deadline; messages name no credentials.
class object_store {
 public:
  virtual ~object_store() = default;
  /// The address, without credentials.
  [[nodiscard]] virtual std::string url() const = 0;
  /// Whether a listing may show folders without objects.
  [[nodiscard]] virtual bool keeps_empty_folders() const noexcept { return true; }
  /// Whether a read may be cut into more requests to save copies.
  [[nodiscard]] virtual bool has_cheap_requests() const noexcept { return false; }
  /// Writes an object: afterwards its name shows all of it; until then, and after a failure, what was there
  /// before.
  virtual void put(const std::string& name, std::span<const std::byte> content) = 0;
  /// Keeps other writers of a folder ("alice/") waiting, where the store can do that; otherwise nothing.
  /// @throws io_error when another one is at work until the deadline
  [[nodiscard]] virtual std::unique_ptr<write_lock> lock(const std::string& folder);
  /// The version of an object, for `put_if`.
  [[nodiscard]] virtual object_version version(const std::string& name);
  /// `put` unless the object is no longer of that version. Stores without conditions put always.
  /// @return whether it was put
  [[nodiscard]] virtual bool put_if(const std::string& name, std::span<const std::byte> content,
                                    const object_version& before);
  /// The whole of a small object, or nothing when there is none.
  /// @throws corrupt_data when it has more than `limit` bytes
  [[nodiscard]] virtual std::optional<std::vector<std::byte>> get(const std::string& name,
                                                                  std::uint64_t limit) = 0;
  /// Reads parts of an object, several at a time where that is faster.
  /// @param bytes of the whole object
  /// @param stop asks to give up, which throws io_error
  /// @throws corrupt_data when the object has another size
  virtual void read(const std::string& name, std::uint64_t bytes, std::span<const range_read> parts,
                    const part_progress& progress, const std::stop_token& stop = {}) = 0;
  /// What is directly in a folder ("" or "alice/"), ascending; empty when there is no such folder.
  [[nodiscard]] virtual std::vector<store_entry> list(const std::string& folder) = 0;
  /// Removes an object; whether there was one.
  virtual bool remove(const std::string& name) = 0;
  [[nodiscard]] virtual store_counts counts() const = 0;
  /// Removes what writers that were killed left in a folder under names that are no object's; how many.
  virtual std::size_t remove_partial(const std::string& folder);
};

/// Whether a text is a name of a user or object: 1 to 128 letters, digits and `._@-`, not starting with '.'.
[[nodiscard]] bool is_store_name(const std::string& name) noexcept;

/// Opens `file:PATH`, `http://HOST[:PORT]/PATH`, `https://...` or `s3://BUCKET[/PREFIX]`. A server reads byte
/// ranges with GET; for `put` and `remove` it needs PUT and DELETE (WebDAV), for `list` a listing in JSON
/// (nginx: `autoindex_format json`). S3 takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
/// from the environment now. Nothing is sent yet.
/// @throws invalid_argument for another scheme, a URL with credentials, options outside their ranges, missing
///   credentials, or a network store in a build without libcurl
[[nodiscard]] std::shared_ptr<object_store> open_store(const std::string& url,
                                                       const store_options& options = {});

}  // namespace halocline::storage
