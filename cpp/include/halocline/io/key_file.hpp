// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "halocline/ckks/key_set.hpp"
#include "halocline/io/serialize.hpp"

/// Bundles of evaluation keys (relinearization, Galois, conjugation): no secret inside. In a bundle every
/// half of every digit is a section of its own with its limbs in the order of the primes, so one digit, or
/// the prefix of it that a lower level needs, is one contiguous read.
namespace halocline::io {

class byte_reader;
struct byte_range;

/// What the list of a bundle says about one key.
struct key_entry {
  unsigned level = 0;        ///< highest level at which the key can be used
  std::uint32_t digits = 0;  ///< number of digits
  std::vector<arith::uniform_source>
      sources;  ///< one for each digit when the key is stored seeded, else empty
};

/// Writes a bundle key by key, so that keys can be generated one after the other without holding them all.
/// The bundle becomes visible when `finish` returns.
class key_bundle_writer {
 public:
  /// A bundle of keys for the secret key `id`, where it is known. `ctx` must outlive the writer.
  key_bundle_writer(const output& to, ckks::context& ctx, const ckks::key_id& id = {});

  ~key_bundle_writer();

  /// Hint that keys of about so many bytes follow; see `container_writer::reserve`.
  void reserve(std::size_t bytes);
  /// Adds a key as it is in memory: a seeded one as b and the seeds of a, half the bytes.
  /// @throws invalid_argument when the bundle has one for the same element, or the key does not fit the
  /// parameters; key_mismatch when it is for another secret key than the bundle.
  void add(const ckks::evaluation_key& key);
  /// Writes the list. A bundle without keys is a bundle too: there are programs that need none.
  void finish();

 private:
  ckks::context& ctx_;
  std::unique_ptr<container_writer> writer_;
  ckks::key_id id_;
  std::map<std::uint64_t, key_entry> entries_;
};

/// Reads keys from a bundle one at a time. Not thread-safe (the context is not).
class key_bundle_reader {
 public:
  /// Reads header and list. `ctx` must outlive the reader, and so must bytes in `from`.
  key_bundle_reader(const input& from, ckks::context& ctx);

  ~key_bundle_reader();

  /// The secret key that all keys of the bundle are for.
  [[nodiscard]] const ckks::key_id& id() const noexcept;
  /// What is in the bundle, ascending by element.
  [[nodiscard]] std::vector<ckks::key_request> list() const;
  /// Reads one key for use at levels up to `level`, which may be below the level it was made for: then only
  /// the prefix of each digit is read.
  /// @throws missing_key when the bundle has no key for the element or only one for lower levels.
  [[nodiscard]] ckks::evaluation_key load(std::uint64_t galois_element, unsigned level) const;
  /// Says that `load` will be called with these next, or after one more call: a source then begins to fetch.
  void announce(std::uint64_t galois_element, unsigned level) const;
  /// Bytes of residues that `load` would allocate.
  [[nodiscard]] std::size_t bytes(std::uint64_t galois_element, unsigned level) const;

 private:
  void read_list();
  [[nodiscard]] key_entry read_entry(byte_reader& in, std::uint64_t galois_element) const;
  [[nodiscard]] const key_entry& find(std::uint64_t galois_element, unsigned level) const;
  /// The parts of the container that `load` reads.
  [[nodiscard]] std::vector<byte_range> parts_of(std::uint64_t galois_element, unsigned level) const;

  ckks::context& ctx_;
  std::unique_ptr<const container_reader> reader_;
  std::map<std::uint64_t, key_entry> entries_;
};

/// Writes all keys of a set.
void save(const output& to, ckks::context& ctx, const ckks::memory_key_set& keys);
/// Reads all keys of a bundle; seeded ones stay seeded (see `ckks::expand`).
[[nodiscard]] ckks::memory_key_set load_evaluation_keys(const input& from, ckks::context& ctx);

}  // namespace halocline::io
