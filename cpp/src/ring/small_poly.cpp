// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/small_poly.hpp"

#include <sodium.h>

namespace halocline::ring {
namespace {

/// A seed on its way to the device; zeroed on destruction.
class private_seed {
 public:
  explicit private_seed(random_source& random) : bytes_(random.next_seed()) {}
  ~private_seed() { sodium_memzero(bytes_.data(), bytes_.size()); }
  private_seed(const private_seed&) = delete;
  private_seed& operator=(const private_seed&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(bytes_)); }

 private:
  backend::seed_bytes bytes_;
};

}  // namespace

small_coefficients::~small_coefficients() {
  sodium_memzero(values_.data(), values_.size() * sizeof(std::int64_t));
}

memory::buffer upload_small(context& ring, small_coefficients& source, const char* tag) {
  const auto bytes = std::as_bytes(source.values());
  memory::buffer result = ring.runtime().allocate(bytes.size(), memory::object_class::scratch, tag, true);
  ring.device().upload(result, 0, bytes);
  return result;
}

memory::buffer draw_small(context& ring, random_source& random, const memory::buffer* table,
                          const char* tag) {
  const auto scratch = memory::object_class::scratch;
  const private_seed host(random);
  const memory::buffer seed = ring.runtime().allocate(host.bytes().size(), scratch, "sampler.seed", true);
  ring.device().upload(seed, 0, host.bytes());
  memory::buffer result =
      ring.runtime().allocate(ring.tables().n() * sizeof(std::int64_t), scratch, tag, true);
  const backend::small_job job{&result, &seed, 0, table};
  ring.device().sample_small(ring.tables(), {&job, 1});
  return result;
}

void expand_small(context& ring, const memory::buffer& coefficients,
                  std::span<const backend::limb_view> dst) {
  std::vector<backend::encode_job> residues;
  std::vector<backend::unary_job> transforms;
  for (const backend::limb_view& view : dst) {
    residues.push_back({view, &coefficients, 1});
    transforms.push_back({view, view});
  }
  ring.device().encode_expand(ring.tables(), residues);
  ring.device().ntt(ring.tables(), transforms);
}

}  // namespace halocline::ring
