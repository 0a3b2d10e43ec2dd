// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "seal/memorymanager.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"

namespace seal {

/// Generators, as files number them.
enum class prng_type : std::uint8_t { unknown = 0, blake2xb = 1, shake256 = 2 };

constexpr std::size_t prng_seed_uint64_count = 8;
constexpr std::size_t prng_seed_byte_count = prng_seed_uint64_count * sizeof(std::uint64_t);
using prng_seed_type = std::array<std::uint64_t, prng_seed_uint64_count>;

/// A word, or bytes, of the random generator of the operating system.
[[nodiscard]] std::uint64_t random_uint64();
void random_bytes(seal_byte* buf, std::size_t count);

class UniformRandomGenerator;

/// Kind and seed of a generator.
class UniformRandomGeneratorInfo {
 public:
  UniformRandomGeneratorInfo() = default;
  UniformRandomGeneratorInfo(prng_type type, prng_seed_type seed) : type_(type), seed_(seed) {}

  /// A generator of this kind with this seed; none for an unknown kind.
  [[nodiscard]] std::shared_ptr<UniformRandomGenerator> make_prng() const;
  /// Whether the kind has a name: generators of programs are unknown, which is valid.
  [[nodiscard]] bool has_valid_prng_type() const noexcept { return type_ <= prng_type::shake256; }
  [[nodiscard]] prng_type type() const noexcept { return type_; }
  [[nodiscard]] const prng_seed_type& seed() const noexcept { return seed_; }
  [[nodiscard]] bool operator==(const UniformRandomGeneratorInfo& other) const noexcept {
    return type_ == other.type_ && seed_ == other.seed_;
  }
  [[nodiscard]] bool operator!=(const UniformRandomGeneratorInfo& other) const noexcept {
    return !(*this == other);
  }

  /// The bytes are random and do not shrink, so they are not packed without an argument.
  [[nodiscard]] static std::streamoff SaveSize(compr_mode_type compr_mode = compr_mode_type::none);
  [[nodiscard]] std::streamoff save_size(compr_mode_type compr_mode = compr_mode_type::none) const {
    return SaveSize(compr_mode);
  }
  std::streamoff save(std::ostream& stream, compr_mode_type compr_mode = compr_mode_type::none) const;
  std::streamoff load(std::istream& stream);
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = compr_mode_type::none) const;
  std::streamoff load(const seal_byte* in, std::size_t size);

 private:
  prng_type type_ = prng_type::unknown;
  prng_seed_type seed_{};
};

/// A stream of bytes from a seed. Safe to use from several threads.
class UniformRandomGenerator {
 public:
  UniformRandomGenerator(prng_seed_type seed);
  UniformRandomGenerator(const UniformRandomGenerator&) = delete;
  UniformRandomGenerator& operator=(const UniformRandomGenerator&) = delete;
  /// Zeroes the seed and the buffer.
  virtual ~UniformRandomGenerator();

  [[nodiscard]] prng_seed_type seed() const noexcept { return seed_; }
  void generate(std::size_t byte_count, seal_byte* destination);
  [[nodiscard]] std::uint32_t generate() {
    std::uint32_t value = 0;
    generate(sizeof value, reinterpret_cast<seal_byte*>(&value));
    return value;
  }
  /// Drops what is left of the buffer.
  void refresh();
  [[nodiscard]] UniformRandomGeneratorInfo info() const noexcept { return {type(), seed_}; }

 protected:
  static constexpr std::size_t buffer_size_ = 4096;

  [[nodiscard]] virtual prng_type type() const noexcept = 0;
  /// Writes the next `buffer_size_` bytes, from `buffer_begin_` to `buffer_end_`.
  virtual void refill_buffer() = 0;

  prng_seed_type seed_;

 private:
  std::array<seal_byte, buffer_size_> buffer_{};

 protected:
  seal_byte* const buffer_begin_;
  seal_byte* const buffer_end_;
  /// The next byte to be given; `buffer_end_` for none.
  seal_byte* buffer_head_;

 private:
  std::mutex mutex_;
};

/// Makes generators.
class UniformRandomGeneratorFactory {
 public:
  /// Each generator gets a random seed.
  UniformRandomGeneratorFactory() = default;
  /// Each generator gets this seed. For tests only: whoever knows it can decrypt everything.
  UniformRandomGeneratorFactory(prng_seed_type default_seed)
      : default_seed_(default_seed), use_random_seed_(false) {}
  virtual ~UniformRandomGeneratorFactory() = default;

  [[nodiscard]] std::shared_ptr<UniformRandomGenerator> create();
  [[nodiscard]] std::shared_ptr<UniformRandomGenerator> create(prng_seed_type seed) {
    return create_impl(seed);
  }
  [[nodiscard]] bool use_random_seed() const noexcept { return use_random_seed_; }
  [[nodiscard]] prng_seed_type default_seed() const noexcept { return default_seed_; }
  /// Blake2xb with random seeds.
  [[nodiscard]] static std::shared_ptr<UniformRandomGeneratorFactory> DefaultFactory();

 protected:
  [[nodiscard]] virtual std::shared_ptr<UniformRandomGenerator> create_impl(prng_seed_type seed) = 0;

 private:
  prng_seed_type default_seed_{};
  bool use_random_seed_ = true;
};

/// BLAKE2Xb of a counter, with the seed as key.
class Blake2xbPRNG : public UniformRandomGenerator {
 public:
  Blake2xbPRNG(prng_seed_type seed) : UniformRandomGenerator(seed) {}

 protected:
  [[nodiscard]] prng_type type() const noexcept override { return prng_type::blake2xb; }
  void refill_buffer() override;

 private:
  std::uint64_t counter_ = 0;
};

class Blake2xbPRNGFactory : public UniformRandomGeneratorFactory {
 public:
  using UniformRandomGeneratorFactory::UniformRandomGeneratorFactory;

 protected:
  [[nodiscard]] std::shared_ptr<UniformRandomGenerator> create_impl(prng_seed_type seed) override {
    return std::make_shared<Blake2xbPRNG>(seed);
  }
};

/// SHAKE256 of the seed and a counter.
class Shake256PRNG : public UniformRandomGenerator {
 public:
  Shake256PRNG(prng_seed_type seed) : UniformRandomGenerator(seed) {}

 protected:
  [[nodiscard]] prng_type type() const noexcept override { return prng_type::shake256; }
  void refill_buffer() override;

 private:
  std::uint64_t counter_ = 0;
};

class Shake256PRNGFactory : public UniformRandomGeneratorFactory {
 public:
  using UniformRandomGeneratorFactory::UniformRandomGeneratorFactory;

 protected:
  [[nodiscard]] std::shared_ptr<UniformRandomGenerator> create_impl(prng_seed_type seed) override {
    return std::make_shared<Shake256PRNG>(seed);
  }
};

}  // namespace seal
