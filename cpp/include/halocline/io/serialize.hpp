// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/ckks/plaintext.hpp"
#include "halocline/io/container.hpp"

/// Public objects to and from containers. Evaluation keys: key_file.hpp; secret keys: secret_key_file.hpp.
///
/// Every container carries its parameters as JSON besides their fingerprint, so `load_parameters` works on
/// any of them. Loaders take untrusted bytes: all metadata and every residue is checked against the
/// parameters before an object comes out, and nothing is allocated before the container is known to hold that
/// much.
///
/// All `save` functions throw io_error (disk full, no permission; an old file is kept), and invalid_argument
/// for an object of another context or of a ghost context, which has no contents. All `load` functions throw
/// io_error (missing file), corrupt_data (truncated, damaged, forged or foreign bytes), invalid_argument
/// (another kind of object, other parameters) and out_of_memory.
namespace halocline::io {

class byte_source;
class container_reader;
class container_writer;

/// Where an object goes: a file, which is replaced as a whole or not at all, or an empty vector.
class output {
 public:
  output(std::filesystem::path path) : target_(std::move(path)) {}
  output(std::vector<std::byte>& bytes) : target_(&bytes) {}

  /// Starts a container there.
  [[nodiscard]] container_writer open(object_kind kind, const params::parameters& parameters) const;

 private:
  std::variant<std::filesystem::path, std::vector<std::byte>*> target_;
};

/// Where an object comes from: a file, a source, or bytes, which outlive the call.
class input {
 public:
  input(std::filesystem::path path) : source_(std::move(path)) {}
  input(std::span<const std::byte> bytes) : source_(bytes) {}
  input(const std::vector<std::byte>& bytes) : source_(std::span(bytes)) {}
  input(std::shared_ptr<const byte_source> source) : source_(std::move(source)) {}

  /// Opens the container there.
  [[nodiscard]] container_reader open() const;

 private:
  std::variant<std::filesystem::path, std::span<const std::byte>, std::shared_ptr<const byte_source>> source_;
};

/// Writes the JSON of a parameter set.
void save(const output& to, const params::parameters& parameters);
/// The parameters in a container of any kind. A set that its author allowed to be insecure is accepted.
/// @param allow_insecure accepts any other below 128 bits as well, for instance one that was secure by an
///   older table when the file was made
/// @throws besides the above: what `params::parameters::from_json` throws for refused parameters.
[[nodiscard]] params::parameters load_parameters(const input& from, bool allow_insecure = false);

/// Writes residues: (special and) chain limbs in order.
void save(const output& to, ckks::context& ctx, const ckks::plaintext& value);
[[nodiscard]] ckks::plaintext load_plaintext(const input& from, ckks::context& ctx);

/// Writes N signed 64-bit coefficients.
void save(const output& to, ckks::context& ctx, const ckks::compact_plaintext& value);
[[nodiscard]] ckks::compact_plaintext load_compact_plaintext(const input& from, ckks::context& ctx);

/// Writes all components; a symmetric ciphertext that still has its seed is written as c_0 and the seed.
void save(const output& to, ckks::context& ctx, const ckks::ciphertext& value);
/// Reads a ciphertext; a c_1 that was written as its seed is expanded (one ChaCha20 block for each 64 bytes).
[[nodiscard]] ckks::ciphertext load_ciphertext(const input& from, ckks::context& ctx);

/// Writes b and the seed of a.
void save(const output& to, ckks::context& ctx, const ckks::public_key& value);
[[nodiscard]] ckks::public_key load_public_key(const input& from, ckks::context& ctx);

/// What a container says about itself, without a context. Nothing of it is checked against parameters yet.
struct container_info {
  object_kind kind{};
  fingerprint parameters{};
  std::uint64_t bytes = 0;       ///< of the whole container
  std::uint32_t components = 0;  ///< ciphertext: 2 or 3; plaintext: 1; otherwise 0
  unsigned level = 0;            ///< of a plaintext or ciphertext
  double scale = 0.0;            ///< of a plaintext or ciphertext
  std::uint32_t slots = 0;       ///< of a plaintext or ciphertext
  bool seeded = false;           ///< whether a c_1 is stored as its seed
  std::uint32_t version = 0;     ///< of the container format
  ckks::key_id key{};            ///< the secret key that it belongs to
};

/// Reads header and metadata only.
[[nodiscard]] container_info inspect(const input& from);

/// `save` into a new vector: `to_bytes(parameters)`, `to_bytes(ctx, value)`.
template <typename... ArgT>
[[nodiscard]] std::vector<std::byte> to_bytes(ArgT&&... args) {
  std::vector<std::byte> out;
  save(output(out), std::forward<ArgT>(args)...);
  return out;
}

}  // namespace halocline::io
