// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

#include "halocline/core/expects.hpp"
#include "halocline/storage/object_store.hpp"
#include "open_remote.hpp"

namespace halocline::storage {
namespace {

constexpr std::size_t longest_name = 128;
constexpr unsigned most_connections = 64;
constexpr double longest_seconds = 86400.0;

[[nodiscard]] bool is_name_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '@' || c == '-';
}

void check_seconds(double value, const char* what) {
  HALOCLINE_EXPECTS(std::isfinite(value) && value > 0 && value <= longest_seconds, invalid_argument,
                    "key store: ", what, " is ", value, ", expected seconds above 0, up to ",
                    longest_seconds);
}

void check_options(const store_options& options) {
  HALOCLINE_EXPECTS(options.connections >= 1 && options.connections <= most_connections, invalid_argument,
                    "key store: ", options.connections, " connections, expected 1 to ", most_connections);
  HALOCLINE_EXPECTS(options.attempts >= 1 && options.attempts <= 1000, invalid_argument,
                    "key store: ", options.attempts, " attempts, expected 1 to 1000");
  HALOCLINE_EXPECTS(options.part_bytes >= 65536, invalid_argument, "key store: parts of ", options.part_bytes,
                    " bytes, expected at least 65536");
  check_seconds(options.deadline_seconds, "the deadline");
  check_seconds(options.connect_seconds, "the time to connect");
  check_seconds(options.stall_seconds, "the time without a byte");
  check_seconds(options.backoff_seconds, "the pause before a retry");
}

/// Printable ASCII without what separates credentials, queries and fragments from a path. Percent signs could
/// hide them.
[[nodiscard]] bool is_plain(std::string_view rest) noexcept {
  return std::ranges::all_of(rest, [](char c) { return c > ' ' && c < 0x7f; }) &&
         rest.find_first_of("?#%\\\"<>@") == std::string_view::npos;
}

[[nodiscard]] std::string with_slash(std::string_view text) {
  std::string out(text);
  while (!out.empty() && out.back() == '/') out.pop_back();
  return out + '/';
}

}  // namespace

bool is_store_name(const std::string& name) noexcept {
  return !name.empty() && name.size() <= longest_name && name.front() != '.' &&
         std::ranges::all_of(name, is_name_letter);
}

std::unique_ptr<write_lock> object_store::lock(const std::string&) { return nullptr; }

object_version object_store::version(const std::string&) { return {}; }

bool object_store::put_if(const std::string& name, std::span<const std::byte> content,
                          const object_version&) {
  put(name, content);
  return true;
}

std::size_t object_store::remove_partial(const std::string&) { return 0; }

std::shared_ptr<object_store> open_store(const std::string& url, const store_options& options) {
  check_options(options);
  const std::size_t colon = url.find(':');
  const std::string scheme = url.substr(0, colon);
  std::string_view rest = std::string_view(url).substr(colon == std::string::npos ? url.size() : colon + 1);
  if (scheme == "file" && colon != std::string::npos) {
    if (rest.starts_with("//")) rest.remove_prefix(2);
    HALOCLINE_EXPECTS(!rest.empty() && rest.find('\0') == std::string_view::npos, invalid_argument,
                      "key store: 'file:' names no folder; expected file:/srv/keys or file:keys");
    return open_folder(std::string(rest), options);
  }
  const bool is_web = scheme == "http" || scheme == "https";
  // The URL is not repeated: it may hold a password.
  HALOCLINE_EXPECTS(
      (is_web || scheme == "s3") && rest.starts_with("//"), invalid_argument,
      "key store: unknown kind of URL; expected file:PATH, http://HOST/PATH, https://HOST/PATH or "
      "s3://BUCKET/PREFIX");
  rest.remove_prefix(2);
  HALOCLINE_EXPECTS(
      !rest.empty() && rest.front() != '/' && is_plain(rest), invalid_argument,
      "key store: the URL has a user, a query, a fragment or letters that need quoting, or no host; "
      "expected ",
      scheme, "://NAME/PATH. Credentials come from the environment");
  if (is_web) return open_http(scheme + "://" + with_slash(rest), options);
  const std::size_t slash = rest.find('/');
  const std::string bucket(rest.substr(0, slash));
  HALOCLINE_EXPECTS(is_store_name(bucket), invalid_argument, "key store: '", bucket,
                    "' is no name of a bucket");
  const std::string_view prefix = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  return open_s3(bucket, prefix.empty() ? "" : with_slash(prefix), options);
}

#ifndef HALOCLINE_CURL
namespace {

[[noreturn]] void need_curl(const char* what) {
  throw invalid_argument(
      text("key store: this build has no libcurl, which ", what,
           " needs; install libcurl4-openssl-dev (Debian, Ubuntu) or libcurl-devel (Fedora) and "
           "build again"));
}

}  // namespace

std::shared_ptr<object_store> open_http(const std::string&, const store_options&) { need_curl("HTTP"); }
std::shared_ptr<object_store> open_s3(const std::string&, const std::string&, const store_options&) {
  need_curl("S3");
}
#endif

}  // namespace halocline::storage
