// SPDX-License-Identifier: Apache-2.0
#include "seal/randomgen.h"

#include <sodium.h>

#include <cstring>
#include <span>

#include "files.hpp"
#include "halocline/seal_format/blake2.hpp"
#include "halocline/seal_format/keccak.hpp"

namespace seal {
namespace {

constexpr std::size_t block_bytes = 4096;
constexpr std::size_t info_bytes = halocline_detail::seed_bytes;

void expect_sodium() {
  if (sodium_init() < 0) throw std::runtime_error("random_bytes: libsodium cannot be initialised");
}

/// The seed followed by a counter, as bytes.
struct block_input {
  std::array<std::uint8_t, prng_seed_byte_count + sizeof(std::uint64_t)> bytes{};

  block_input(const prng_seed_type& seed, std::uint64_t counter) {
    std::memcpy(bytes.data(), seed.data(), prng_seed_byte_count);
    std::memcpy(bytes.data() + prng_seed_byte_count, &counter, sizeof counter);
  }
  block_input(const block_input&) = delete;
  block_input& operator=(const block_input&) = delete;
  ~block_input() { sodium_memzero(bytes.data(), bytes.size()); }

  [[nodiscard]] std::span<const std::uint8_t> seed() const {
    return std::span(bytes).first(prng_seed_byte_count);
  }
  [[nodiscard]] std::span<const std::uint8_t> counter() const {
    return std::span(bytes).subspan(prng_seed_byte_count);
  }
};

auto members_of(const prng_type& type, const prng_seed_type& seed) {
  return [&](std::ostream& to) {
    to.write(reinterpret_cast<const char*>(&type), sizeof type);
    to.write(reinterpret_cast<const char*>(seed.data()), prng_seed_byte_count);
  };
}

auto loader_of(prng_type& type, prng_seed_type& seed) {
  return [&](std::istream& from, SEALVersion) {
    std::uint8_t kind = 0;
    from.read(reinterpret_cast<char*>(&kind), sizeof kind);
    from.read(reinterpret_cast<char*>(seed.data()), prng_seed_byte_count);
    if (!from || kind > static_cast<std::uint8_t>(prng_type::shake256)) {
      throw std::logic_error("UniformRandomGeneratorInfo: generator " + std::to_string(unsigned{kind}) +
                             "; expected 0, 1 or 2, and a seed of 64 bytes");
    }
    type = static_cast<prng_type>(kind);
  };
}

}  // namespace

std::uint64_t random_uint64() {
  std::uint64_t value = 0;
  random_bytes(reinterpret_cast<seal_byte*>(&value), sizeof value);
  return value;
}

void random_bytes(seal_byte* buf, std::size_t count) {
  expect_sodium();
  randombytes_buf(buf, count);
}

std::shared_ptr<UniformRandomGenerator> UniformRandomGeneratorInfo::make_prng() const {
  switch (type_) {
    case prng_type::blake2xb:
      return std::make_shared<Blake2xbPRNG>(seed_);
    case prng_type::shake256:
      return std::make_shared<Shake256PRNG>(seed_);
    default:
      return nullptr;
  }
}

std::streamoff UniformRandomGeneratorInfo::SaveSize(compr_mode_type compr_mode) {
  return halocline_detail::bound(info_bytes, compr_mode);
}

std::streamoff UniformRandomGeneratorInfo::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return Serialization::Save(members_of(type_, seed_), SaveSize(), stream, compr_mode);
}

std::streamoff UniformRandomGeneratorInfo::save(seal_byte* out, std::size_t size,
                                                compr_mode_type compr_mode) const {
  return Serialization::Save(members_of(type_, seed_), SaveSize(), out, size, compr_mode);
}

std::streamoff UniformRandomGeneratorInfo::load(std::istream& stream) {
  UniformRandomGeneratorInfo loaded;
  const std::streamoff taken = Serialization::Load(loader_of(loaded.type_, loaded.seed_), stream);
  *this = loaded;
  return taken;
}

std::streamoff UniformRandomGeneratorInfo::load(const seal_byte* in, std::size_t size) {
  UniformRandomGeneratorInfo loaded;
  const std::streamoff taken = Serialization::Load(loader_of(loaded.type_, loaded.seed_), in, size);
  *this = loaded;
  return taken;
}

UniformRandomGenerator::UniformRandomGenerator(prng_seed_type seed)
    : seed_(seed),
      buffer_begin_(buffer_.data()),
      buffer_end_(buffer_begin_ + buffer_size_),
      buffer_head_(buffer_end_) {}

UniformRandomGenerator::~UniformRandomGenerator() {
  sodium_memzero(buffer_.data(), buffer_.size());
  sodium_memzero(seed_.data(), prng_seed_byte_count);
}

void UniformRandomGenerator::generate(std::size_t byte_count, seal_byte* destination) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (byte_count > 0) {
    if (buffer_head_ == buffer_end_) {
      refill_buffer();
      buffer_head_ = buffer_begin_;
    }
    const std::size_t count = std::min(byte_count, static_cast<std::size_t>(buffer_end_ - buffer_head_));
    std::memcpy(destination, buffer_head_, count);
    buffer_head_ += count;
    destination += count;
    byte_count -= count;
  }
}

void UniformRandomGenerator::refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  buffer_head_ = buffer_end_;
}

std::shared_ptr<UniformRandomGenerator> UniformRandomGeneratorFactory::create() {
  if (!use_random_seed_) return create_impl(default_seed_);
  prng_seed_type seed;
  random_bytes(reinterpret_cast<seal_byte*>(seed.data()), prng_seed_byte_count);
  std::shared_ptr<UniformRandomGenerator> made = create_impl(seed);
  sodium_memzero(seed.data(), prng_seed_byte_count);
  return made;
}

std::shared_ptr<UniformRandomGeneratorFactory> UniformRandomGeneratorFactory::DefaultFactory() {
  static const auto* factory =
      new std::shared_ptr<UniformRandomGeneratorFactory>(std::make_shared<Blake2xbPRNGFactory>());
  return *factory;
}

void Blake2xbPRNG::refill_buffer() {
  const block_input input(seed_, counter_++);
  ::halocline::seal_format::blake2xb({reinterpret_cast<std::uint8_t*>(buffer_begin_), block_bytes},
                                     input.counter(), input.seed());
}

void Shake256PRNG::refill_buffer() {
  const block_input input(seed_, counter_++);
  ::halocline::seal_format::shake256({reinterpret_cast<std::uint8_t*>(buffer_begin_), block_bytes},
                                     input.bytes);
}

}  // namespace seal
