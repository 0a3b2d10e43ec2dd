// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/seal/client.hpp"
#include "halocline/seal/encoder.hpp"
#include "halocline/seal/evaluator.hpp"
#include "halocline/seal/forms.hpp"
#include "seal/detail/access.h"
#include "seal/device.h"
#include "seal/galoiskeys.h"
#include "seal/relinkeys.h"

namespace seal::halocline_detail {

namespace core = halocline::seal;

class engines;

/// An in-order queue: a parameter set on a backend of its own. One user at a time, who holds the mutex.
///
/// Mutexes are taken in this order: of keys, of an object's copies, of a queue. Two
/// objects' are taken together, by `std::scoped_lock`.
struct queue {
  queue(const halocline::seal_format::parameters& of, std::shared_ptr<halocline::backend::backend> device)
      : ctx(of, std::move(device), true, 2), on(ctx) {}

  std::mutex mutex;
  std::weak_ptr<const engines> owner;  ///< gone with the last copy of its context
  core::context ctx;
  core::evaluator on;
};

/// What `Ciphertext`, `Plaintext` hold on a device: `core::ciphertext`, `core::plaintext` with scale 1; the
/// scales that count are those of SEAL's objects.
template <typename ValueT>
class queue_words final : public device_words {
 public:
  queue_words(std::shared_ptr<halocline_detail::queue> where, ValueT value)
      : where_(std::move(where)), value_(std::move(value)) {}

  [[nodiscard]] const void* queue() const noexcept override { return where_.get(); }
  [[nodiscard]] bool is_left() const noexcept override { return where_->owner.expired(); }
  [[nodiscard]] const ValueT& value() const noexcept { return value_; }
  [[nodiscard]] const core::polynomials& parts() const noexcept {
    if constexpr (std::is_same_v<ValueT, core::ciphertext>) {
      return value_.parts;
    } else {
      return value_.part;
    }
  }
  void download(std::uint64_t* to, std::size_t count) const override {
    const std::scoped_lock lock(where_->mutex);
    core::store_words(where_->ctx, parts(), {to, count});
  }

 private:
  std::shared_ptr<halocline_detail::queue> where_;  // before the value, which lives in its memory
  ValueT value_;
};

using device_ciphertext = std::shared_ptr<const queue_words<core::ciphertext>>;
using device_plaintext = std::shared_ptr<const queue_words<core::plaintext>>;

/// The queues of a context: one for each thread and device. A thread that ends leaves its queues to the next.
class engines : public std::enable_shared_from_this<engines> {
 public:
  explicit engines(const SEALContext& of);

  /// Those of a context, made at their first use.
  [[nodiscard]] static std::shared_ptr<engines> of(const SEALContext& context);

  /// The calling thread's queue on a device.
  /// @param place a mark: "" for the CPU
  [[nodiscard]] std::shared_ptr<queue> mine(const std::string& place);
  /// The same, if there is one; or nullptr.
  [[nodiscard]] std::shared_ptr<queue> existing(const std::string& place);
  void set_options(const std::string& place, const DeviceOptions& options);

  [[nodiscard]] const halocline::seal_format::parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const core::encoder& encoder() const noexcept { return encoder_; }
  /// Primes of a number of limbs.
  [[nodiscard]] std::span<const std::uint64_t> primes(std::size_t count) const {
    return std::span(parameters_.primes).first(count);
  }

  /// A queue goes back to those that are free.
  void leave(const std::shared_ptr<queue>& used);

 private:
  struct entry {
    std::string place;
    std::shared_ptr<queue> held;
    bool used = true;
  };

  halocline::seal_format::parameters parameters_;
  core::encoder encoder_;
  std::mutex mutex_;
  std::vector<entry> entries_;
  std::map<std::string, DeviceOptions> options_;
};

/// Makes a backend: for devices that the library itself does not know, such as a simulated one.
using device_factory =
    std::function<std::shared_ptr<halocline::backend::backend>(const halocline::backend::backend_options&)>;
/// Adds a device under a name, or takes it away.
void add_device(const std::string& name, device_factory make);
void remove_device(const std::string& name);

/// Words of objects in a queue's memory, uploaded unless they are there.
[[nodiscard]] device_ciphertext on_queue(const std::shared_ptr<queue>& where, const Ciphertext& object);
[[nodiscard]] device_plaintext on_queue(const std::shared_ptr<queue>& where, const Plaintext& object);

/// Keys in a queue's memory, uploaded unless they are there: all relinearization keys, or the Galois key of
/// one element.
using device_key_set = std::shared_ptr<const core::switch_key_set>;
[[nodiscard]] device_key_set keys_on_queue(const std::shared_ptr<queue>& where, const RelinKeys& keys);
[[nodiscard]] device_key_set keys_on_queue(const std::shared_ptr<queue>& where, const GaloisKeys& keys,
                                           std::uint32_t element);

/// What objects throw where a pool handle has no pool.
void check_pool(const MemoryPoolHandle& pool);
/// Checks the parameters of a context, and that they are of CKKS.
/// @throws std::invalid_argument for bad parameters, std::logic_error for another scheme
void check_parameters(const SEALContext& context);

/// Randomness for keys and encryption: that of the operating system, or, where the program has set a
/// generator in the parameters, a stream that it seeds.
class randomness {
 public:
  explicit randomness(const SEALContext& context);
  [[nodiscard]] halocline::ring::random_source& source() noexcept { return *source_; }

 private:
  std::unique_ptr<halocline::ring::random_source> source_;
};

/// Words and shape of a ciphertext over the primes of `parms_id`; with the seed that stands for its second
/// polynomial in files, or nullptr.
void set_contents(const halocline::seal_format::ciphertext& from, const parms_id_type& parms_id,
                  const halocline::seal_format::seed* seed, Ciphertext& to);
/// An encryption of 0 under a secret key, with scale 1.
void set_zero_encryption(queue& on, halocline::ring::random_source& random,
                         std::span<const std::uint64_t> key, const parms_id_type& parms_id,
                         std::uint32_t primes, bool keep_seed, Ciphertext& to);

}  // namespace seal::halocline_detail
