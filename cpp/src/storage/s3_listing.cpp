// SPDX-License-Identifier: Apache-2.0
#include "s3_listing.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "halocline/core/expects.hpp"

namespace halocline::storage {
namespace {

constexpr std::size_t longest_token = 4096;

[[noreturn]] void refuse(const char* why) {
  throw corrupt_data(
      text("the listing of the bucket is not valid: ", why, "; expected the XML of ListObjectsV2"));
}

/// Takes the content of the next element `name` off the front of `rest`; nothing when there is none.
[[nodiscard]] std::optional<std::string_view> take(std::string_view& rest, std::string_view name) {
  const std::string open = text('<', name, '>');
  const std::string close = text("</", name, '>');
  const std::size_t begin = rest.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t content = begin + open.size();
  const std::size_t end = rest.find(close, content);
  if (end == std::string_view::npos) refuse("an element does not end");
  const std::string_view found = rest.substr(content, end - content);
  rest.remove_prefix(end + close.size());
  return found;
}

/// The first element `name` in a part.
[[nodiscard]] std::optional<std::string_view> first(std::string_view part, std::string_view name) {
  return take(part, name);
}

[[nodiscard]] std::string unescape(std::string_view from) {
  constexpr std::array<std::pair<std::string_view, char>, 5> entities{
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  while (!from.empty()) {
    if (from.front() != '&') {
      out += from.front();
      from.remove_prefix(1);
      continue;
    }
    const auto known =
        std::ranges::find_if(entities, [&](const auto& e) { return from.starts_with(e.first); });
    if (known == entities.end()) refuse("it has an unknown entity");
    out += known->second;
    from.remove_prefix(known->first.size());
  }
  return out;
}

[[nodiscard]] std::uint64_t number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed != std::errc() || end != digits.data() + digits.size()) refuse("a size is no number");
  return value;
}

void add(s3_page& page, std::string_view raw, std::string_view prefix, bool is_folder, std::uint64_t bytes) {
  std::string name = unescape(raw);
  if (!name.starts_with(prefix)) refuse("a name is not below the prefix that was asked for");
  name.erase(0, prefix.size());
  if (is_folder) {
    if (!name.ends_with('/')) refuse("a common prefix does not end with the delimiter");
    name.pop_back();
  }
  if (is_store_name(name)) page.entries.push_back({std::move(name), is_folder, bytes});
}

}  // namespace

s3_page read_s3_page(std::string_view xml, std::string_view prefix) {
  const std::size_t root = xml.find("<ListBucketResult");
  if (root == std::string_view::npos || !xml.substr(root).ends_with("</ListBucketResult>")) {
    refuse("its root is not ListBucketResult");
  }
  s3_page page;
  for (std::string_view rest = xml; const auto part = take(rest, "Contents");) {
    const auto key = first(*part, "Key");
    const auto size = first(*part, "Size");
    if (!key || !size) refuse("an entry has no name or no size");
    add(page, *key, prefix, false, number(*size));
  }
  for (std::string_view rest = xml; const auto part = take(rest, "CommonPrefixes");) {
    const auto name = first(*part, "Prefix");
    if (!name) refuse("a common prefix has no name");
    add(page, *name, prefix, true, 0);
  }
  if (first(xml, "IsTruncated").value_or("false") == "true") {
    page.next = unescape(first(xml, "NextContinuationToken").value_or(""));
    if (page.next.empty() || page.next.size() > longest_token) refuse("it goes on, and does not say where");
  }
  return page;
}

}  // namespace halocline::storage
