// SPDX-License-Identifier: Apache-2.0
#ifdef HALOCLINE_CURL
#include "transfer.hpp"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "halocline/core/expects.hpp"

namespace halocline::storage {
namespace {

constexpr long most_redirections = 3;
constexpr long receive_buffer = 512L << 10;  // the default of 16 KiB costs a call back for each
constexpr std::uint64_t report_bytes = std::uint64_t{512} << 10;
constexpr double longest_pause = 5.0;

template <typename ValueT>
void set(CURL* easy, CURLoption option, ValueT value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  HALOCLINE_EXPECTS(code == CURLE_OK, io_error, "cannot set option ", static_cast<int>(option),
                    " of libcurl: ", curl_easy_strerror(code), "; install libcurl 7.85 or later");
}

/// Whether another attempt may go better.
[[nodiscard]] bool may_pass(CURLcode code) noexcept {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}

/// The value in a line of a header, up to 200 letters; nothing when the line is another's.
/// @param name in small letters, with the colon
[[nodiscard]] std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  const bool is_it = line.size() > name.size() &&
                     std::equal(name.begin(), name.end(), line.begin(),
                                [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  if (!is_it) return std::nullopt;
  std::string_view value = line.substr(name.size(), 200);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && static_cast<unsigned char>(value.back()) <= ' ') value.remove_suffix(1);
  return value;
}

/// Uniform in [0.5, 1): clients that failed together do not come back together.
[[nodiscard]] double jitter() { return 0.5 + 0.5 * randombytes_uniform(1U << 20) / (1U << 20); }

}  // namespace

transfer::transfer(http_job& job, const store_options& options, const s3_signature& signature)
    : job_(job), options_(options), signature_(signature), easy_(curl_easy_init()) {
  HALOCLINE_EXPECTS(easy_ != nullptr, io_error, "cannot make a handle of libcurl: out of memory");
}

transfer::~transfer() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

std::string transfer::subject() const {
  const char* const names[] = {"GET", "PUT", "DELETE", "HEAD"};
  return text(names[static_cast<unsigned>(job_.method)], ' ', job_.url);
}

bool transfer::is_silent() const {
  if (job_.method == http_method::put && sent_ == job_.upload.size() && connected_) return false;
  const double limit =
      connected_ ? options_.stall_seconds : std::max(options_.stall_seconds, options_.connect_seconds);
  return steady::now() - heard_ > std::chrono::duration<double>(limit);
}

void transfer::set_headers() {
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  const auto add = [this](const std::string& line) { headers_ = curl_slist_append(headers_, line.c_str()); };
  if (job_.method == http_method::put) {
    // No round trip before the body. Not with a signature: libcurl 7.88 signs the header that it leaves out.
    if (signature_.scope.empty()) add("Expect:");
    add("Content-Type: application/octet-stream");
    if (!job_.condition.empty()) add(job_.condition);
  }
  if (!signature_.scope.empty()) {
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(job_.upload.data()),
                       job_.upload.size());
    char hex[2 * sizeof digest + 1];
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    add(std::string("x-amz-content-sha256: ") + hex);
    if (!signature_.token.empty()) add("x-amz-security-token: " + signature_.token);
  }
}

void transfer::set_up() {
  set(easy_, CURLOPT_URL, job_.url.c_str());
  set(easy_, CURLOPT_NOSIGNAL, 1L);
  set(easy_, CURLOPT_USERAGENT, "halocline");
  set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // parallel connections
  set(easy_, CURLOPT_PROTOCOLS_STR, job_.url.starts_with("https:") ? "https" : "http,https");
  set(easy_, CURLOPT_REDIR_PROTOCOLS_STR, job_.url.starts_with("https:") ? "https" : "http,https");
  set(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
  const bool follows = job_.method == http_method::get && signature_.scope.empty();
  set(easy_, CURLOPT_FOLLOWLOCATION, follows ? 1L : 0L);
  set(easy_, CURLOPT_MAXREDIRS, most_redirections);
  set(easy_, CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, std::lround(options_.connect_seconds * 1000)));
  set(easy_, CURLOPT_BUFFERSIZE, receive_buffer);
  set(easy_, CURLOPT_HEADERFUNCTION, &transfer::on_header);
  set(easy_, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(easy_, CURLOPT_WRITEFUNCTION, &transfer::on_body);
  set(easy_, CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(easy_, CURLOPT_PRIVATE, static_cast<void*>(this));
  if (!signature_.scope.empty()) {
    set(easy_, CURLOPT_AWS_SIGV4, signature_.scope.c_str());
    set(easy_, CURLOPT_USERPWD, signature_.user.c_str());
  }
  set_headers();
  set(easy_, CURLOPT_HTTPHEADER, headers_);
  if (job_.method == http_method::head) set(easy_, CURLOPT_NOBODY, 1L);
  if (job_.method == http_method::remove) set(easy_, CURLOPT_CUSTOMREQUEST, "DELETE");
  if (job_.method == http_method::put) {
    set(easy_, CURLOPT_UPLOAD, 1L);
    set(easy_, CURLOPT_EXPECT_100_TIMEOUT_MS, 200L);  // some servers never answer it
    set(easy_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(job_.upload.size()));
    set(easy_, CURLOPT_UPLOAD_BUFFERSIZE, receive_buffer);
    set(easy_, CURLOPT_READFUNCTION, &transfer::on_upload);
    set(easy_, CURLOPT_READDATA, static_cast<void*>(this));
    set(easy_, CURLOPT_SEEKFUNCTION, &transfer::on_seek);
    set(easy_, CURLOPT_SEEKDATA, static_cast<void*>(this));
  }
}

CURL* transfer::start(std::chrono::milliseconds left) {
  if (attempts_ == 0) set_up();
  ++attempts_;
  sent_ = fresh_ = 0;
  content_range_.clear();
  checked_ = connected_ = false;
  heard_ = steady::now();
  if (!job_.is_range) job_.body.clear();
  set(easy_, CURLOPT_TIMEOUT_MS, std::max<long>(1, static_cast<long>(left.count())));
  if (job_.is_range) {
    const std::string range =
        text(job_.offset + received_, '-', job_.offset + job_.dst.size() - 1);  // copied by libcurl
    set(easy_, CURLOPT_RANGE, range.c_str());
  }
  return easy_;
}

std::size_t transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& at = *static_cast<transfer*>(self);
  at.note_activity();
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    at.content_range_.clear();  // a redirection was followed
    at.job_.tag.clear();
  } else if (const auto range = value_of(line, "content-range:")) {
    at.content_range_ = *range;
  } else if (const auto tag = value_of(line, "etag:")) {
    at.job_.tag = *tag;
  }
  return size * count;
}

std::size_t transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& at = *static_cast<transfer*>(self);
  at.note_activity();
  try {
    return at.accept(std::as_bytes(std::span(data, size * count)));
  } catch (...) {
    at.refusal_ = std::current_exception();
    return 0;  // ends the attempt
  }
}

std::size_t transfer::on_upload(char* data, std::size_t size, std::size_t count, void* self) {
  auto& at = *static_cast<transfer*>(self);
  const std::size_t part = std::min<std::size_t>(size * count, at.job_.upload.size() - at.sent_);
  std::memcpy(data, at.job_.upload.data() + at.sent_, part);
  at.note_activity();
  at.sent_ += part;
  at.fresh_ += part;
  return part;
}

int transfer::on_seek(void* self, curl_off_t offset, int origin) {
  auto& at = *static_cast<transfer*>(self);
  if (origin != SEEK_SET || offset < 0 || static_cast<std::uint64_t>(offset) > at.job_.upload.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  at.sent_ = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

void transfer::check_range_answer() {
  const std::string expected =
      text("bytes ", job_.offset + received_, '-', job_.offset + job_.dst.size() - 1, '/', job_.object_bytes);
  HALOCLINE_EXPECTS(job_.status == 206, io_error, subject(), ": the server ignores byte ranges: it answers ",
                    job_.status, " with the whole object, expected 206; use a server that has ranges");
  HALOCLINE_EXPECTS(content_range_ == expected, corrupt_data, subject(), ": the server sends '",
                    content_range_, "', expected '", expected,
                    "'; the object was replaced or is not what its manifest says");
  checked_ = true;
}

std::size_t transfer::accept(std::span<const std::byte> bytes) {
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &job_.status);
  if (job_.status < 200 || job_.status > 299) return bytes.size();  // what an error page says is not used
  if (job_.is_range) {
    if (!checked_) check_range_answer();
    HALOCLINE_EXPECTS(bytes.size() <= job_.dst.size() - received_, corrupt_data, subject(),
                      ": the server sends more than the ", job_.dst.size(), " bytes asked for");
    std::memcpy(job_.dst.data() + received_, bytes.data(), bytes.size());
    received_ += bytes.size();
    report();
  } else if (job_.method == http_method::get) {
    HALOCLINE_EXPECTS(bytes.size() <= job_.limit - job_.body.size(), corrupt_data, subject(),
                      ": the server sends more than ", job_.limit,
                      " bytes, the most for an object of its kind");
    job_.body.insert(job_.body.end(), bytes.begin(), bytes.end());
  }
  fresh_ += bytes.size();
  return bytes.size();
}

void transfer::report() {
  if (progress_ == nullptr || received_ == reported_) return;
  if (received_ < job_.dst.size() && received_ - reported_ < report_bytes) return;
  reported_ = received_;
  (*progress_)(number_, received_);
}

bool transfer::finish(CURLcode result) {
  if (fresh_ > 0 && job_.is_range) fruitless_ = 0;
  if (refusal_) std::rethrow_exception(refusal_);
  return judge(result);
}

bool transfer::judge(CURLcode result) {
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &job_.status);
  const bool failed_answer = result == CURLE_OK && (job_.status < 200 || job_.status > 299);
  if (failed_answer) return judge_status();
  if (result == CURLE_OK && (!job_.is_range || received_ == job_.dst.size())) return true;
  if (result != CURLE_OK) {
    HALOCLINE_EXPECTS(may_pass(result), io_error, subject(), ": ", curl_easy_strerror(result));
    retry_later(curl_easy_strerror(result));
  } else {
    // Nothing was written where the answer has no body; what its header says counts then too.
    if (!checked_) check_range_answer();
    retry_later(text("the server sent ", received_, " of ", job_.dst.size(), " bytes"));
  }
  return false;
}

bool transfer::judge_status() {
  const long status = job_.status;
  if (status == 404 && !job_.is_range) return true;
  if (!job_.condition.empty() && (status == 409 || status == 412 || status == 501)) return true;
  const bool passing = status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501);
  if (!passing) refuse_status();
  retry_later(text("the server answered ", status));
  return false;
}

void transfer::refuse_status() const {
  const char* advice = "";
  if (job_.status == 401 || job_.status == 403)
    advice = ": it refuses the access; check credentials and rights";
  if (job_.status == 404) advice = ": the object is gone; the keys were replaced or deleted meanwhile";
  if (job_.status == 405 || job_.status == 501) {
    advice = ": it has no such method; it can be read only, writing needs WebDAV or S3";
  }
  if (job_.status >= 300 && job_.status < 400) advice = ": a redirection, which is not followed here";
  HALOCLINE_EXPECTS(job_.status != 416, corrupt_data, subject(), ": bytes ", job_.offset, " to ",
                    job_.offset + job_.dst.size() - 1,
                    " do not exist (status 416): the object is shorter than its manifest says");
  throw io_error(text(subject(), ": the server answered ", job_.status, advice));
}

void transfer::retry_later(std::string why) {
  failure_ = std::move(why);
  ++fruitless_;
  HALOCLINE_EXPECTS(fruitless_ < options_.attempts, io_error, subject(), ": ", failure_, ", ", fruitless_,
                    " times in a row; is the server running?");
  const double pause = std::min(
      longest_pause, std::ldexp(options_.backoff_seconds, static_cast<int>(std::min(fruitless_, 20U)) - 1));
  next_ = steady::now() +
          std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(pause * jitter()));
}

}  // namespace halocline::storage
#endif
