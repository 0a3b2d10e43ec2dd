// SPDX-License-Identifier: Apache-2.0
#include "operation.hpp"

#include <algorithm>
#include <cstdlib>

namespace seal::halocline_detail {
namespace {

bool are_zero(std::span<const std::uint64_t> words) {
  return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; });
}

}  // namespace

std::string place_named_by(const char* name) {
  if (name == nullptr || *name == '\0') return {};
  try {
    return checked_place(name);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("HALOCLINE_SEAL_DEVICE: ") + error.what());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("HALOCLINE_SEAL_DEVICE: ") + error.what());
  }
}

const std::string& default_place() {
  static const std::string place = place_named_by(std::getenv("HALOCLINE_SEAL_DEVICE"));
  return place;
}

bool operation::is_transparent(const core::polynomials& of) const {
  if (of.size() < 2) return true;
  const std::size_t part = of.primes() * on_->ctx.tables().n();
  const std::size_t offset = part * sizeof(std::uint64_t);
  // Residues that hide something are random: the first few tell, but for one case in 2^100.
  std::array<std::uint64_t, 4> few{};
  const std::span<std::uint64_t> first = std::span(few).first(std::min(few.size(), part));
  on_->ctx.device().download(std::as_writable_bytes(first), of.data(), offset);
  if (!are_zero(first)) return false;
  std::vector<std::uint64_t> rest((of.size() - 1) * part);
  on_->ctx.device().download(std::as_writable_bytes(std::span(rest)), of.data(), offset);
  return are_zero(rest);
}

void operation::keep(std::shared_ptr<queue_words<core::ciphertext>> made, const result_shape& shape,
                     Ciphertext& to) const {
  const core::polynomials& parts = made->parts();
  ciphertext_access::set_shape(to, shape.parms_id, parts.size(), on_->ctx.tables().n(), parts.primes(),
                               shape.scale, shape.is_ntt_form);
  device_copy& copies = ciphertext_access::device(to);
  copies.set_place(place_);
  copies.set_newer(std::move(made));
}

std::string place_of(const Ciphertext& a) { return ciphertext_access::device(a).place(); }

std::string place_of(const Ciphertext& a, const Ciphertext& b) {
  std::string first = place_of(a);
  return first.empty() ? place_of(b) : first;
}

std::string place_of(const Ciphertext& a, const Plaintext& b) {
  std::string first = place_of(a);
  return first.empty() ? plaintext_access::device(b).place() : first;
}

}  // namespace seal::halocline_detail
