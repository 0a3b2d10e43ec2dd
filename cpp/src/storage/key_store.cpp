// SPDX-License-Identifier: Apache-2.0
#include "halocline/storage/key_store.hpp"

#include <algorithm>
#include <string_view>

#include "halocline/core/expects.hpp"
#include "halocline/core/shared_work.hpp"
#include "halocline/io/container_reader.hpp"
#include "verified_object.hpp"

namespace halocline::storage {
namespace {

constexpr std::string_view manifest_name = "manifest.hlm";

[[nodiscard]] std::string manifest_of(const std::string& user) {
  HALOCLINE_EXPECTS(is_store_name(user), invalid_argument, "key store: no name of a user: ", user.size(),
                    " bytes, expected 1 to 128 letters, digits and ._@-, not starting with '.'");
  return text(user, '/', manifest_name);
}

}  // namespace

manifest key_store::put(const std::string& user, std::span<const std::byte> container) {
  (void)manifest_of(user);
  const auto reader = io::container_reader::over(container, text("the keys of '", user, '\''));
  reader.expect_kind(io::object_kind::evaluation_keys);
  HALOCLINE_EXPECTS(reader.key().is_known(), invalid_argument, reader.name(),
                    " name no secret key, so they cannot be bound to the user; generate them anew");
  const auto sections = reader.sections();
  share_work(sections.size(), digest_threads(), [&](std::size_t i) { reader.verify(sections[i]); });
  const manifest made = make_manifest(user, reader.key(), reader.parameters(), container);
  const std::vector<std::byte> encoded = encode(made);
  const std::uint64_t size = container.size() + encoded.size();
  HALOCLINE_EXPECTS(quota_ == 0 || size <= quota_, io_error, reader.name(), " have ", size,
                    " bytes with their manifest, the quota of a user is ", quota_,
                    "; put fewer keys, or keys for lower levels");
  const auto alone = objects_->lock(user + '/');
  publish(made, container, encoded, !alone);
  return made;
}

void key_store::publish(const manifest& made, std::span<const std::byte> container,
                        std::span<const std::byte> encoded, bool is_shared) {
  const std::string folder = made.user + '/';
  // First the version, then the list: a writer whose container is in our list has seen the manifest of before
  // our own, and fails when it puts its manifest.
  const object_version version =
      is_shared ? objects_->version(folder + std::string(manifest_name)) : object_version{};
  const std::vector<store_entry> before = objects_->list(folder);
  objects_->put(folder + made.object_name(), container);
  const std::string place = manifest_of(made.user);
  if (!is_shared) {
    objects_->put(place, encoded);
  } else if (!objects_->put_if(place, encoded, version)) {
    // An attempt that was cut may have succeeded.
    const auto there = objects_->get(place, manifest::most_bytes + 4096);
    HALOCLINE_EXPECTS(there && std::ranges::equal(*there, encoded), io_error, "key store: the keys of '",
                      made.user,
                      "' were put or deleted by another writer at the same time, and not replaced; put them "
                      "again if these are the right ones");
  }
  // Readers of the old manifest that still need its container get an error that says so.
  for (const store_entry& each : before) {
    if (each.is_folder || each.name == manifest_name || each.name == made.object_name()) continue;
    objects_->remove(folder + each.name);
  }
}

manifest key_store::find(const std::string& user, const std::optional<std::string>& root,
                         const std::optional<std::string>& key) {
  const auto bytes = objects_->get(manifest_of(user), manifest::most_bytes + 4096);
  HALOCLINE_EXPECTS(bytes, storage::unknown_user, "key store '", objects_->url(), "' has no keys of '", user,
                    "'; put them first");
  manifest found = decode_manifest(*bytes, user);
  HALOCLINE_EXPECTS(!key || to_string(found.key) == *key, key_mismatch, "key store: the keys of '", user,
                    "' are for the secret key ", to_string(found.key), ", expected ", key.value_or(""));
  HALOCLINE_EXPECTS(!root || to_string(found.root) == *root, corrupt_data, "key store: the keys of '", user,
                    "' have the digest ", to_string(found.root), ", expected ", root.value_or(""),
                    "; they were replaced or forged");
  return found;
}

std::shared_ptr<const io::byte_source> key_store::open(manifest of) {
  return std::make_shared<verified_object>(objects_, std::move(of), options_);
}

manifest key_store::check(const std::string& user, const std::optional<std::string>& root,
                          const std::optional<std::string>& key) {
  manifest found = find(user, root, key);
  verified_object(objects_, found, options_).check_all();
  return found;
}

std::size_t key_store::clean(const std::string& user) {
  const std::string place = manifest_of(user);
  std::size_t removed = objects_->remove_partial(user + '/');
  if (objects_->list(user + '/').empty()) return removed;
  const auto alone = objects_->lock(user + '/');
  const auto bytes = objects_->get(place, manifest::most_bytes + 4096);
  const std::string kept = bytes ? decode_manifest(*bytes, user).object_name() : std::string();
  for (const store_entry& each : objects_->list(user + '/')) {
    const bool is_container = each.name.starts_with("keys-") && each.name.ends_with(".hlc");
    if (each.is_folder || !is_container || each.name == kept) continue;
    objects_->remove(user + '/' + each.name);
    ++removed;
  }
  return removed;
}

std::vector<std::string> key_store::users() {
  std::vector<std::string> out;
  for (const store_entry& each : objects_->list("")) {
    if (!each.is_folder) continue;
    bool has_keys = !objects_->keeps_empty_folders();
    if (!has_keys) {
      for (const store_entry& object : objects_->list(each.name + '/')) {
        has_keys = has_keys || object.name == manifest_name;
      }
    }
    if (has_keys) out.push_back(each.name);
  }
  return out;
}

std::uint64_t key_store::bytes(const std::string& user) {
  (void)manifest_of(user);
  std::uint64_t total = 0;
  for (const store_entry& each : objects_->list(user + '/')) total += each.bytes;
  return total;
}

bool key_store::remove(const std::string& user) {
  const std::string place = manifest_of(user);
  if (objects_->list(user + '/').empty() && objects_->remove_partial(user + '/') == 0) return false;
  const auto alone = objects_->lock(user + '/');
  const std::vector<store_entry> entries = objects_->list(user + '/');
  bool some = false;
  if (!entries.empty()) some = objects_->remove(place);
  for (const store_entry& each : entries) {
    if (!each.is_folder && each.name != manifest_name)
      some = objects_->remove(user + '/' + each.name) || some;
  }
  return some;
}

}  // namespace halocline::storage
