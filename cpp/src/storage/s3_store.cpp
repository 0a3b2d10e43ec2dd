// SPDX-License-Identifier: Apache-2.0
#ifdef HALOCLINE_CURL
#include <algorithm>
#include <cstdlib>

#include "halocline/core/expects.hpp"
#include "http_client.hpp"
#include "open_remote.hpp"
#include "s3_listing.hpp"

namespace halocline::storage {
namespace {

constexpr std::uint64_t page_limit = std::uint64_t{8} << 20;
constexpr std::size_t most_entries = 100000;
constexpr std::uint64_t largest_put = std::uint64_t{5}
                                      << 30;  // of one PUT (S3 user guide, "Uploading objects")

[[nodiscard]] std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[nodiscard]] std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& each : values) {
    if (!each.empty()) return each;
  }
  return "";
}

/// Percent-encodes all but unreserved letters, as signatures need it (RFC 3986, section 2.3), and '/'.
[[nodiscard]] std::string encode(std::string_view from, bool keep_slash) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : from) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return out;
}

[[nodiscard]] s3_signature signature_of(const std::string& region) {
  const std::string key = environment("AWS_ACCESS_KEY_ID");
  const std::string secret = environment("AWS_SECRET_ACCESS_KEY");
  HALOCLINE_EXPECTS(!key.empty() && !secret.empty(), invalid_argument,
                    "key store: no credentials for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and "
                    "AWS_SESSION_TOKEN where the key is temporary");
  return {"aws:amz:" + region + ":s3", key + ':' + secret, environment("AWS_SESSION_TOKEN")};
}

/// URL of the bucket, with '/' at the end: in the path where there is an endpoint, else in the host's name.
[[nodiscard]] std::string bucket_url(const std::string& bucket, std::string endpoint,
                                     const std::string& region) {
  if (endpoint.empty()) return "https://" + bucket + ".s3." + region + ".amazonaws.com/";
  HALOCLINE_EXPECTS((endpoint.starts_with("https://") || endpoint.starts_with("http://")) &&
                        endpoint.find_first_of("@?#% ") == std::string::npos,
                    invalid_argument,
                    "key store: the endpoint of S3 is no plain URL; expected http(s)://HOST[:PORT]");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint + '/' + bucket + '/';
}

/// Objects of a bucket below a prefix.
class s3_store final : public object_store {
 public:
  s3_store(std::string shown, std::string base, std::string prefix, const store_options& options,
           s3_signature signature)
      : shown_(std::move(shown)),
        base_(std::move(base)),
        prefix_(std::move(prefix)),
        client_(options, std::move(signature)) {}

  [[nodiscard]] std::string url() const override { return shown_; }
  [[nodiscard]] bool keeps_empty_folders() const noexcept override { return false; }

  void put(const std::string& name, std::span<const std::byte> content) override {
    HALOCLINE_EXPECTS(content.size() <= largest_put, invalid_argument, "key store: ", content.size(),
                      " bytes for one object of S3, expected at most ", largest_put,
                      "; put fewer keys, or keys for lower levels");
    http_job job{http_method::put, url_of(name), content};
    client_.perform({&job, 1});
    expect_bucket(job.status, job.url);
  }

  [[nodiscard]] object_version version(const std::string& name) override {
    return version_at(client_, url_of(name));
  }

  [[nodiscard]] bool put_if(const std::string& name, std::span<const std::byte> content,
                            const object_version& before) override {
    long status = 0;
    const bool done = put_at(client_, url_of(name), content, before, status);
    expect_bucket(status, base_);
    return done;
  }

  [[nodiscard]] std::optional<std::vector<std::byte>> get(const std::string& name,
                                                          std::uint64_t limit) override {
    http_job job{http_method::get, url_of(name)};
    job.limit = limit;
    client_.perform({&job, 1});
    if (job.status == 404) return std::nullopt;
    return std::move(job.body);
  }

  void read(const std::string& name, std::uint64_t bytes, std::span<const range_read> parts,
            const part_progress& progress, const std::stop_token& stop) override {
    std::vector<http_job> jobs = range_jobs(url_of(name), bytes, parts);
    client_.perform(jobs, progress, stop);
  }

  [[nodiscard]] std::vector<store_entry> list(const std::string& folder) override {
    std::vector<store_entry> out;
    std::string next;
    const std::string prefix = prefix_ + folder;
    do {
      // Parameters in order of their names: that is how signatures see them.
      http_job job{http_method::get,
                   base_ + '?' + (next.empty() ? "" : "continuation-token=" + encode(next, false) + '&') +
                       "delimiter=%2F&list-type=2&prefix=" + encode(prefix, false)};
      job.limit = page_limit;
      client_.perform({&job, 1});
      expect_bucket(job.status, base_);
      s3_page page = read_s3_page({reinterpret_cast<const char*>(job.body.data()), job.body.size()}, prefix);
      std::ranges::move(page.entries, std::back_inserter(out));
      HALOCLINE_EXPECTS(out.size() <= most_entries && (page.next.empty() || page.next != next), corrupt_data,
                        "the listing of the bucket has more than ", most_entries, " entries, or no end");
      next = page.next;
    } while (!next.empty());
    std::ranges::sort(out, {}, &store_entry::name);
    return out;
  }

  bool remove(const std::string& name) override {
    http_job job{http_method::remove, url_of(name)};
    client_.perform({&job, 1});  // S3 does not say whether there was one
    return job.status != 404;
  }

  [[nodiscard]] store_counts counts() const override { return client_.counts(); }

 private:
  [[nodiscard]] std::string url_of(const std::string& name) const {
    return base_ + encode(prefix_ + name, true);
  }

  static void expect_bucket(long status, const std::string& url) {
    HALOCLINE_EXPECTS(status != 404, io_error, url, ": the server answered 404: there is no such bucket");
  }

  std::string shown_;
  std::string base_;
  std::string prefix_;
  http_client client_;
};

}  // namespace

std::shared_ptr<object_store> open_s3(const std::string& bucket, const std::string& prefix,
                                      const store_options& options) {
  const std::string region =
      first_of({options.region, environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), "us-east-1"});
  HALOCLINE_EXPECTS(is_store_name(region), invalid_argument, "key store: '", region,
                    "' is no name of a region of S3; expected one such as eu-central-1");
  const std::string endpoint =
      first_of({options.endpoint, environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL")});
  return std::make_shared<s3_store>("s3://" + bucket + '/' + prefix, bucket_url(bucket, endpoint, region),
                                    prefix, options, signature_of(region));
}

}  // namespace halocline::storage
#endif
