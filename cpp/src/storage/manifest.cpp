// SPDX-License-Identifier: Apache-2.0
#include "halocline/storage/manifest.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "halocline/core/expects.hpp"
#include "halocline/core/shared_work.hpp"
#include "halocline/io/byte_codec.hpp"
#include "halocline/storage/object_store.hpp"
#include "storage/digest/blake2b_lanes.hpp"

namespace halocline::storage {
namespace {

constexpr std::array<std::uint8_t, 8> magic{0x89, 'H', 'L', 'M', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t version = 1;
constexpr std::string_view domain = "halocline key store 1";
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 20;  // 64 GiB
constexpr std::size_t digest_blocks = 256;                     // of a thread at a time: 16 MiB

/// The key of all digests of a user's keys.
[[nodiscard]] digest256 binding(const manifest& of) {
  io::byte_writer text;
  text.put_bytes(std::as_bytes(std::span(domain)));
  text.put(std::uint32_t(of.user.size()));
  text.put_bytes(std::as_bytes(std::span(of.user)));
  text.put_bytes(std::as_bytes(std::span(of.key.bytes)));
  text.put_bytes(std::as_bytes(std::span(of.parameters)));
  digest256 out{};
  crypto_generichash_blake2b(out.data(), out.size(),
                             reinterpret_cast<const unsigned char*>(text.bytes().data()), text.bytes().size(),
                             nullptr, 0);
  return out;
}

[[nodiscard]] std::uint64_t blocks_of(std::uint64_t bytes) noexcept {
  return bytes / manifest::block_bytes + (bytes % manifest::block_bytes != 0 ? 1 : 0);
}

/// Everything but the root digest.
[[nodiscard]] std::vector<std::byte> body_of(const manifest& from) {
  io::byte_writer out;
  out.put_bytes(std::as_bytes(std::span(magic)));
  out.put(version);
  out.put(std::uint32_t(manifest::block_bytes));
  out.put_bytes(std::as_bytes(std::span(from.key.bytes)));
  out.put_bytes(std::as_bytes(std::span(from.parameters)));
  out.put(from.bytes);
  out.put(std::uint64_t(from.user.size()));
  out.put_bytes(std::as_bytes(std::span(from.user)));
  out.put_bytes(std::as_bytes(std::span(from.blocks)));
  return {out.bytes().begin(), out.bytes().end()};
}

template <std::size_t count>
void get(io::byte_reader& in, std::array<std::uint8_t, count>& out) {
  std::memcpy(out.data(), in.get_bytes(count).data(), count);
}

}  // namespace

std::size_t digest_threads() noexcept {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 4);
}

std::string to_string(const digest256& digest) {
  std::string out(2 * digest.size() + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), digest.data(), digest.size());
  out.pop_back();
  return out;
}

std::string manifest::object_name() const { return "keys-" + to_string(root).substr(0, 32) + ".hlc"; }

block_digester::block_digester(const manifest& of) : key_(binding(of)) {}

void block_digester::operator()(std::span<const std::byte> bytes, std::span<digest256> out) const noexcept {
  const std::size_t whole = bytes.size() / manifest::block_bytes;
  digest::blake2b_keyed(key_, bytes, manifest::block_bytes, out.first(whole));
  const auto rest = bytes.subspan(whole * manifest::block_bytes);
  if (!rest.empty()) out[whole] = digest::blake2b_keyed(key_, rest);
}

manifest make_manifest(const std::string& user, const ckks::key_id& key, const io::fingerprint& parameters,
                       std::span<const std::byte> container) {
  HALOCLINE_EXPECTS(is_store_name(user), invalid_argument, "key store: no name of a user: ", user.size(),
                    " bytes, expected 1 to 128 letters, digits and ._@-, not starting with '.'");
  HALOCLINE_EXPECTS(blocks_of(container.size()) <= most_blocks, invalid_argument,
                    "key store: ", container.size(), " bytes of keys, expected at most ",
                    most_blocks * manifest::block_bytes);
  manifest out{user, key, parameters, container.size(), {}, {}};
  out.blocks.resize(blocks_of(container.size()));
  const block_digester digest{out};
  const std::size_t parts = (out.blocks.size() + digest_blocks - 1) / digest_blocks;
  share_work(parts, digest_threads(), [&](std::size_t part) {
    const std::size_t first = part * digest_blocks;
    const std::size_t count = std::min(digest_blocks, out.blocks.size() - first);
    const auto bytes = container.subspan(first * manifest::block_bytes);
    digest(bytes.first(std::min<std::size_t>(bytes.size(), count * manifest::block_bytes)),
           std::span(out.blocks).subspan(first, count));
  });
  out.root = digest::blake2b_keyed(binding(out), body_of(out));
  return out;
}

std::vector<std::byte> encode(const manifest& from) {
  std::vector<std::byte> out = body_of(from);
  const auto root = std::as_bytes(std::span(from.root));
  out.insert(out.end(), root.begin(), root.end());
  return out;
}

manifest decode_manifest(std::span<const std::byte> bytes, const std::string& user) {
  const std::string what = text("the manifest of the keys of '", user, '\'');
  io::byte_reader in(bytes, what);
  std::array<std::uint8_t, magic.size()> start{};
  get(in, start);
  HALOCLINE_EXPECTS(start == magic, corrupt_data, what, " is no manifest of a key store");
  const auto found = in.get<std::uint32_t>();
  HALOCLINE_EXPECTS(found == version, corrupt_data, what, " has format version ", found, ", expected ",
                    version, "; update halocline to read it");
  const auto block = in.get<std::uint32_t>();
  manifest out;
  get(in, out.key.bytes);
  get(in, out.parameters);
  out.bytes = in.get<std::uint64_t>();
  const auto name = in.get<std::uint64_t>();
  HALOCLINE_EXPECTS(block == manifest::block_bytes && name == user.size() && out.bytes > 0 &&
                        blocks_of(out.bytes) <= most_blocks,
                    corrupt_data, what, " is not valid: blocks of ", block, " bytes, a name of ", name,
                    " letters, ", out.bytes, " bytes of keys");
  const auto letters = in.get_bytes(name);
  out.user.assign(reinterpret_cast<const char*>(letters.data()), letters.size());
  HALOCLINE_EXPECTS(out.user == user, corrupt_data, what, " is that of another user");
  const std::uint64_t count = blocks_of(out.bytes);
  HALOCLINE_EXPECTS(in.left() == (count + 1) * sizeof(digest256), corrupt_data, what, " has ", in.left(),
                    " bytes of digests, expected ", (count + 1) * sizeof(digest256), " for ", out.bytes,
                    " bytes of keys");
  out.blocks.resize(count);
  std::memcpy(out.blocks.data(), in.get_bytes(count * sizeof(digest256)).data(), count * sizeof(digest256));
  get(in, out.root);
  HALOCLINE_EXPECTS(
      out.root == digest::blake2b_keyed(binding(out), bytes.first(bytes.size() - sizeof(digest256))),
      corrupt_data, what, " does not match its own digest; put the keys again");
  return out;
}

}  // namespace halocline::storage
