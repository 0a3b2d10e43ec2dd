// SPDX-License-Identifier: Apache-2.0
#ifdef HALOCLINE_CURL
#include <algorithm>

#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"
#include "http_client.hpp"
#include "open_remote.hpp"

namespace halocline::storage {
namespace {

constexpr std::uint64_t listing_limit = std::uint64_t{16} << 20;
constexpr std::size_t most_entries = 100000;

/// Objects below a URL of a web server.
class http_store final : public object_store {
 public:
  http_store(std::string url, const store_options& options) : url_(std::move(url)), client_(options) {}

  [[nodiscard]] std::string url() const override { return url_; }

  void put(const std::string& name, std::span<const std::byte> content) override {
    http_job job{http_method::put, url_ + name, content};
    client_.perform({&job, 1});
    expect_folder(job.status, job.url);
  }

  [[nodiscard]] object_version version(const std::string& name) override {
    return version_at(client_, url_ + name);
  }

  [[nodiscard]] bool put_if(const std::string& name, std::span<const std::byte> content,
                            const object_version& before) override {
    long status = 0;
    const bool done = put_at(client_, url_ + name, content, before, status);
    expect_folder(status, url_ + name);
    return done;
  }

  [[nodiscard]] std::optional<std::vector<std::byte>> get(const std::string& name,
                                                          std::uint64_t limit) override {
    http_job job{http_method::get, url_ + name};
    job.limit = limit;
    client_.perform({&job, 1});
    if (job.status == 404) return std::nullopt;
    return std::move(job.body);
  }

  void read(const std::string& name, std::uint64_t bytes, std::span<const range_read> parts,
            const part_progress& progress, const std::stop_token& stop) override {
    std::vector<http_job> jobs = range_jobs(url_ + name, bytes, parts);
    client_.perform(jobs, progress, stop);
  }

  [[nodiscard]] std::vector<store_entry> list(const std::string& folder) override {
    const auto page = get(folder, listing_limit);
    if (!page) return {};
    const std::string_view text(reinterpret_cast<const char*>(page->data()), page->size());
    HALOCLINE_EXPECTS(text.starts_with('['), io_error, "GET ", url_, folder,
                      ": the server gave no listing in JSON; for nginx, set autoindex on and "
                      "autoindex_format json");
    try {
      return read_listing(text);
    } catch (const invalid_argument& e) {
      throw corrupt_data(halocline::text("GET ", url_, folder, ": the listing is not valid: ", e.what()));
    }
  }

  [[nodiscard]] static std::vector<store_entry> read_listing(std::string_view text) {
    std::vector<store_entry> out;
    const json::value listing = json::parse(text, {listing_limit, 4, 8 * most_entries});
    for (const json::value& each : listing.as_array("listing")) {
      const json::object& entry = each.as_object("entry of the listing");
      const json::value* const name = json::find(entry, "name");
      const json::value* const type = json::find(entry, "type");
      const json::value* const size = json::find(entry, "size");
      if (name == nullptr || type == nullptr || !is_store_name(name->as_string("name"))) continue;
      const bool is_folder = type->as_string("type") == "directory";
      const std::uint64_t bytes =
          is_folder || size == nullptr ? 0 : size->as_integer("size", 0, std::uint64_t{1} << 53);
      out.push_back({name->as_string("name"), is_folder, bytes});
    }
    std::ranges::sort(out, {}, &store_entry::name);
    return out;
  }

  bool remove(const std::string& name) override {
    http_job job{http_method::remove, url_ + name};
    client_.perform({&job, 1});
    return job.status != 404;
  }

  [[nodiscard]] store_counts counts() const override { return client_.counts(); }

 private:
  static void expect_folder(long status, const std::string& url) {
    HALOCLINE_EXPECTS(status != 404, io_error, "PUT ", url,
                      ": the server answered 404; for nginx, set create_full_put_path on");
  }

  std::string url_;
  http_client client_;
};

}  // namespace

std::shared_ptr<object_store> open_http(const std::string& url, const store_options& options) {
  return std::make_shared<http_store>(url, options);
}

}  // namespace halocline::storage
#endif
