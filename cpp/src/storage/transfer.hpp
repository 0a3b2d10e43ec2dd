// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "http_client.hpp"

namespace halocline::storage {

using steady = std::chrono::steady_clock;

/// One job with its attempts. libcurl's callbacks write into it, so it does not move.
class transfer {
 public:
  transfer(http_job& job, const store_options& options, const s3_signature& signature);
  ~transfer();
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  /// Calls `progress`, which must live as long, with `number` as a range arrives.
  void report_to(const part_progress& progress, std::size_t number) noexcept {
    progress_ = &progress;
    number_ = number;
  }
  /// Prepares the next attempt; what a range has received already is not asked for again.
  /// @param left time until the deadline
  /// @return the handle to add to a multi handle
  [[nodiscard]] CURL* start(std::chrono::milliseconds left);
  /// Takes the result of an attempt.
  /// @return whether the job is done; otherwise it is to be started again at `next`
  /// @throws what makes a further attempt pointless
  [[nodiscard]] bool finish(CURLcode result);

  [[nodiscard]] steady::time_point next() const noexcept { return next_; }
  /// Whether the next attempt asks for the rest of a range.
  [[nodiscard]] bool is_resumed() const noexcept { return received_ > 0; }
  [[nodiscard]] bool is_retry() const noexcept { return attempts_ > 1; }
  /// What went wrong last, or nothing.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  /// Bytes of the range that are there.
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  [[nodiscard]] http_job& job() noexcept { return job_; }
  [[nodiscard]] CURL* handle() const noexcept { return easy_; }
  /// Whether the connection has been silent for too long. A server that has the whole of an upload may take
  /// until the deadline to store it.
  [[nodiscard]] bool is_silent() const;
  /// "GET http://host/path", for messages.
  [[nodiscard]] std::string subject() const;

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_upload(char* data, std::size_t size, std::size_t count, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);

  void set_up();
  void set_headers();
  [[nodiscard]] std::size_t accept(std::span<const std::byte> bytes);
  void report();
  /// Whether what the answer says of itself fits the job; sets `refusal_` otherwise.
  void check_range_answer();
  [[nodiscard]] bool judge(CURLcode result);
  [[nodiscard]] bool judge_status();
  [[noreturn]] void refuse_status() const;
  void retry_later(std::string why);
  void note_activity() noexcept {
    heard_ = steady::now();
    connected_ = true;
  }

  http_job& job_;
  const store_options& options_;
  const s3_signature& signature_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  const part_progress* progress_ = nullptr;
  std::size_t number_ = 0;
  std::uint64_t received_ = 0;  ///< of a range, over all attempts
  std::uint64_t reported_ = 0;  ///< of them
  std::uint64_t sent_ = 0;      ///< of an upload, in this attempt
  std::uint64_t fresh_ = 0;     ///< bytes of this attempt
  std::string content_range_;   ///< header of this attempt's answer
  bool checked_ = false;        ///< whether that was compared
  std::exception_ptr refusal_;  ///< set by callbacks, which must not throw
  unsigned attempts_ = 0;       ///< in all
  unsigned fruitless_ = 0;      ///< that brought no byte, one after the other
  std::string failure_;
  steady::time_point next_{};
  steady::time_point heard_{};  ///< when the last bytes came or went
  bool connected_ = false;      ///< whether some did in this attempt
};

}  // namespace halocline::storage
