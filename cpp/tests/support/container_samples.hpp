// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "halocline/io/byte_codec.hpp"
#include "halocline/io/checksum.hpp"
#include "halocline/io/container_reader.hpp"
#include "halocline/io/container_writer.hpp"
#include "io/container_layout.hpp"

namespace halocline::test {

using byte_vector = std::vector<std::byte>;

/// Deterministic bytes.
[[nodiscard]] inline byte_vector sample_bytes(std::size_t count, std::uint32_t seed) {
  std::minstd_rand random(seed);
  byte_vector out(count);
  std::generate(out.begin(), out.end(), [&random] { return static_cast<std::byte>(random() >> 8); });
  return out;
}

/// A container with one section per given size, named DATA 0/0, DATA 1/0, ...
[[nodiscard]] inline byte_vector sample_container(std::span<const std::size_t> sizes, std::uint32_t seed = 1,
                                                  io::object_kind kind = io::object_kind::evaluation_keys) {
  io::fingerprint parameters{};
  parameters.fill(static_cast<std::uint8_t>(seed));
  byte_vector out;
  io::container_writer writer(out, kind, parameters);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    writer.add_section({io::section_tag("DATA"), 0, i},
                       sample_bytes(sizes[i], seed + static_cast<std::uint32_t>(i)));
  }
  writer.finish();
  return out;
}

/// Makes digests and checksums of damaged bytes right again wherever the layout still allows it, so that
/// tests reach the code behind the checksums, as a forged file would.
inline void reseal(std::span<std::byte> bytes) {
  namespace layout = io::layout;
  if (bytes.size() < io::section_alignment) return;
  const auto get = [bytes](std::uint64_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  const auto put = [bytes](std::uint64_t at, const auto& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  put(layout::magic, io::container_magic);
  put(layout::file_bytes, std::uint64_t{bytes.size()});
  const std::uint64_t start = get(layout::directory_offset);
  const std::uint64_t count = get(layout::section_count) & 0xffffffff;
  if (start <= bytes.size() && count <= (bytes.size() - start) / io::section_entry_bytes) {
    put(layout::directory_bytes, bytes.size() - start);
    std::uint64_t slot = start + count * io::section_entry_bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t entry = start + i * io::section_entry_bytes;
      const std::uint64_t offset = get(entry + 16);
      const std::uint64_t length = get(entry + 24);
      if (offset > start || length > start - offset) break;
      const io::section where{{}, offset, length, 0};
      const std::uint64_t end = std::min(start, offset + where.padded_bytes());
      for (std::uint64_t at = offset; at < end && slot + 8 <= bytes.size();
           at += io::block_bytes, slot += 8) {
        put(slot, io::checksum64(bytes.subspan(at, std::min<std::uint64_t>(io::block_bytes, end - at))));
      }
    }
    put(layout::directory_digest, io::blake2b_128(bytes.subspan(start)));
  }
  put(layout::header_digest, io::blake2b_128(bytes.first(layout::header_digest)));
}

/// The secret key that samples belong to.
[[nodiscard]] inline ckks::key_id sample_key_id(std::uint8_t seed = 0x1b) {
  ckks::key_id id;
  id.bytes.fill(seed);
  return id;
}

/// Makes the header claim that the object was made for these parameters. Call before `reseal`.
inline void forge_parameters(std::span<std::byte> bytes, const io::fingerprint& parameters) {
  if (bytes.size() < io::section_alignment) return;
  std::memcpy(bytes.data() + io::layout::parameters, parameters.data(), parameters.size());
}

/// Makes the header claim another format version. Versions 1 and 2 differ in nothing else when no key is
/// named, so this makes containers of version 1.
inline void forge_version(std::span<std::byte> bytes, std::uint32_t version) {
  std::memcpy(bytes.data() + io::layout::version, &version, sizeof version);
  const io::digest128 digest = io::blake2b_128(bytes.first(io::layout::header_digest));
  std::memcpy(bytes.data() + io::layout::header_digest, digest.data(), digest.size());
}

/// Writes what a reader found into a new container of the same version. A valid container comes back byte for
/// byte: its layout leaves no freedom.
[[nodiscard]] inline byte_vector rewrite(const io::container_reader& reader) {
  byte_vector out;
  io::container_writer writer(out, reader.kind(), reader.parameters());
  writer.set_key(reader.key());
  for (const io::section& each : reader.sections()) {
    writer.add_section(each.id, reader.read_all(each, each.bytes));
  }
  writer.finish();
  forge_version(out, reader.version());
  return out;
}

}  // namespace halocline::test
