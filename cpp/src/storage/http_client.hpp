// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "halocline/storage/object_store.hpp"

namespace halocline::storage {

/// What a request asks for.
enum class http_method : std::uint8_t { get, put, remove, head };

/// Credentials of S3, with which libcurl signs requests (AWS signature version 4).
struct s3_signature {
  std::string scope;  ///< CURLOPT_AWS_SIGV4
  std::string user;   ///< key and secret, joined by ':'; never in messages
  std::string token;  ///< of a session, or empty; never in messages
};

/// One request, and what came of it.
struct http_job {
  http_method method = http_method::get;
  std::string url;
  std::span<const std::byte> upload{};  ///< of PUT
  /// GET with a range: where it goes, where it starts, and the size that the whole object must have.
  bool is_range = false;
  std::span<std::byte> dst{};
  std::uint64_t offset = 0;
  std::uint64_t object_bytes = 0;
  /// GET of a whole: at most so many bytes.
  std::uint64_t limit = 0;

  std::string condition{};  ///< header "If-Match: ..." or "If-None-Match: *" of PUT, or empty

  long status = 0;                ///< of the last answer: 2xx, 404, or with a condition 409, 412 and 501
  std::string tag{};              ///< ETag of the last answer, or empty
  std::vector<std::byte> body{};  ///< of a GET without a range
};

class curl_pool;

/// Performs requests through libcurl's multi interface: several at once over connections that are kept, each
/// repeated after a failure that may pass (no connection, a cut or silent one, status 408, 429 and 5xx), with
/// exponential backoff and jitter, and a range from the byte where it was cut. Certificates are verified, at
/// most 3 redirections are followed, and only by GET. Thread-safe.
class http_client {
 public:
  http_client(store_options options, s3_signature signature = {});
  ~http_client();

  /// Performs all jobs, and calls `progress` while ranges arrive.
  /// @throws io_error when one is refused for good, or not done by the deadline; corrupt_data when an object
  ///   has another size than expected or a body exceeds its limit
  /// @param stop asks to give up, which throws io_error within 0.2 s
  void perform(std::span<http_job> jobs, const part_progress& progress = {},
               const std::stop_token& stop = {});
  [[nodiscard]] store_counts counts() const;

 private:
  friend class transfer_run;
  store_options options_;
  s3_signature signature_;
  std::unique_ptr<curl_pool> pool_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> retries_{0};
  std::atomic<std::uint64_t> resumed_{0};
  std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> sent_{0};
};

/// The version of an object, for a condition.
[[nodiscard]] object_version version_at(http_client& client, const std::string& url);
/// Puts unless the object has another version. A server that has no conditions puts always.
/// @param status of the last answer
/// @return whether it was put
[[nodiscard]] bool put_at(http_client& client, const std::string& url, std::span<const std::byte> content,
                          const object_version& before, long& status);

/// Jobs that read parts of one object.
[[nodiscard]] std::vector<http_job> range_jobs(const std::string& url, std::uint64_t object_bytes,
                                               std::span<const range_read> parts);

}  // namespace halocline::storage
