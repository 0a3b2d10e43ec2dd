// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/encoder.hpp"
#include "halocline/ckks/key_set.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/memory/runtime_options.hpp"

namespace halocline::ring {
enum class transform_tables : std::uint8_t;  ///< see `make_client_context`
}

namespace halocline::ckks {

/// How a client is set up.
struct client_options {
  std::optional<unsigned> threads{};  ///< worker threads; the number of processors unless given
  /// Makes every key and ciphertext reproducible: for tests and experiments only, never with real data.
  std::optional<arith::seed_bytes> seed{};
  std::string device = "cpu";        ///< "cpu" or a GPU, "cuda:0"; results are the same bytes on all
  memory::runtime_options memory{};  ///< budget, policy, slow tier; secrets stay in the device's memory
};

/// How values are encrypted.
struct encrypt_options {
  std::optional<unsigned> level{};  ///< highest level unless given
  std::optional<double> scale{};    ///< canonical scale of the level unless given
  /// A power of two; the next one from the number of values on unless given.
  std::optional<std::uint32_t> slots{};
  bool use_public_key = false;  ///< through the public key: more noise, no seed
};

/// Which evaluation keys a program needs.
struct key_selection {
  std::vector<std::int64_t> rotations{};  ///< steps, left positive; 0 and repetitions are ignored
  bool relinearization = true;
  bool conjugation = false;
  std::optional<unsigned> level{};  ///< highest level at which the keys are used; all unless given, but for
                                    ///< those that only bootstrapping uses
  bool encapsulation = false;       ///< the key of ModRaise, for the highest level of all
};

/// Takes keys over, one by one.
using key_sink = std::function<void(evaluation_key key)>;

/// The requests of a selection, ascending by Galois element.
/// @throws invalid_argument when the level is above the highest, a step is not below N/2 in magnitude, or an
///   encapsulation key is asked for that the parameters do not have
[[nodiscard]] std::vector<key_request> make_requests(const params::parameters& parameters,
                                                     const key_selection& selection);

/// A context for a client of these parameters. `transforms` says when NTT tables are built, now unless given:
/// later for a secret key that is yet to be read, because `io::load_secret_key` builds them once the file is
/// checked.
/// @throws invalid_argument for an unknown device or the ghost, which has no contents; device_error where
///   there is no such GPU; out_of_memory when the tables exceed the budget
[[nodiscard]] std::shared_ptr<context> make_client_context(params::parameters parameters,
                                                           const client_options& options = {});
[[nodiscard]] std::shared_ptr<context> make_client_context(params::parameters parameters,
                                                           const client_options& options,
                                                           ring::transform_tables transforms);

/// The party that owns the secret key: encodes, encrypts, decrypts and generates the keys that an engine
/// needs. Works on one device in a context of its own, where its results live until they are loaded into an
/// engine. Not thread-safe, not copyable.
class client {
 public:
  /// Draws a fresh secret key.
  explicit client(params::parameters parameters, const client_options& options = {});
  /// Takes over a secret key that was made or read in `ctx`.
  /// @throws invalid_argument when the secret key does not live in the runtime of `ctx`
  client(std::shared_ptr<ckks::context> ctx, ckks::secret_key secret, const client_options& options = {});

  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Parameters of everything that it makes, and the context in which it makes them.
  [[nodiscard]] const params::parameters& parameters() const noexcept;
  [[nodiscard]] ckks::context& context() const noexcept { return *ctx_; }
  [[nodiscard]] const std::shared_ptr<ckks::context>& context_handle() const noexcept { return ctx_; }
  /// The secret key, for writing it to a file. Handle with care.
  [[nodiscard]] const ckks::secret_key& secret_key() const noexcept { return secret_; }
  /// Public name of the secret key, which everything made by this client carries. Unknown when the key comes
  /// from a file of format version 1.
  [[nodiscard]] const key_id& id() const noexcept { return secret_.id; }
  /// Draws an identifier for a secret key that has none. Save the key afterwards: the old file does not
  /// contain the identifier. Older objects of this key keep an unknown identifier and stay usable.
  /// @throws invalid_argument when the key has an identifier, which is never changed
  void assign_id();
  [[nodiscard]] ckks::encoder& encoder() noexcept;

  /// Encrypts at most N/2 values, zero padded to the number of slots.
  /// @throws invalid_argument as `encoder::encode`, or when the level is above the highest
  [[nodiscard]] ciphertext encrypt(std::span<const std::complex<double>> values,
                                   const encrypt_options& options = {});
  /// Copies a result of an engine, or what was read elsewhere, into this client's context. No other thread
  /// may use that engine meanwhile.
  /// @throws invalid_argument when the parameters differ or the ciphertext is malformed; key_mismatch when it
  ///   belongs to another secret key
  [[nodiscard]] ciphertext receive(const ciphertext& source);
  /// Slot values of a ciphertext of this client's context; see `receive`.
  /// @param flooding_bits see `decryptor::decrypt_values`
  [[nodiscard]] std::vector<std::complex<double>> decrypt(const ciphertext& source,
                                                          double flooding_bits = 0.0);

  /// Encrypts a message that `encoder()` has made, through the secret or the public key.
  /// @throws invalid_argument when the plaintext belongs to another context
  [[nodiscard]] ciphertext encrypt_plain(const plaintext& message, bool use_public_key = false);
  /// Decrypts without decoding, over all primes of the level. The coefficients hold the exact noise: see
  /// SECURITY.md before publishing them.
  /// @throws invalid_argument unless the ciphertext is well formed and of this client's context
  [[nodiscard]] plaintext decrypt_plain(const ciphertext& source);

  /// The public key, made at first use. It may outlive the client, but not its context.
  [[nodiscard]] std::shared_ptr<const ckks::public_key> public_key();
  /// One evaluation key. `seeded` keeps the seed of its uniform half only: half the bytes on the way.
  [[nodiscard]] evaluation_key make_key(const key_request& request, bool seeded = true);
  /// Makes keys one after the other and passes each one on before it makes the next, for instance to
  /// `io::key_bundle_writer::add`: the device needs memory for its tables, the secret key, one key and three
  /// polynomials of the key's limbs, whatever the number of keys.
  /// @throws out_of_memory naming the budget that would do, when there is less memory than that
  void make_keys(std::span<const key_request> requests, bool seeded, const key_sink& sink);
  /// The same, into a set in the context `home`, which is usually one in host memory.
  [[nodiscard]] memory_key_set make_keys(std::span<const key_request> requests, ckks::context& home,
                                         bool seeded = true);
  /// All keys of a list of requests, e.g. `engine::needed_keys()` of a ghost run, in the client's own memory.
  [[nodiscard]] memory_key_set make_keys(std::span<const key_request> requests, bool seeded = true);
  /// All keys of a selection.
  [[nodiscard]] memory_key_set make_keys(const key_selection& selection, bool seeded = true);

 private:
  struct tools;

  std::shared_ptr<ckks::context> ctx_;
  std::unique_ptr<tools> tools_;
  ckks::secret_key secret_;
  std::shared_ptr<const ckks::public_key> public_;
};

}  // namespace halocline::ckks
