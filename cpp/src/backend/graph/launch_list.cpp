// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/launch_list.hpp"

#include <cstring>
#include <functional>

namespace halocline::backend::graph {
namespace {

std::uint64_t hash_of(const extent& e) noexcept { return mix(mix(e.x, e.y), e.z); }

bool same_kernel(const launch& a, const launch& b) noexcept {
  return a.function == b.function && a.grid == b.grid && a.block == b.block &&
         a.shared_bytes == b.shared_bytes && a.params_bytes == b.params_bytes;
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t h = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
  h ^= h >> 32U;
  h *= 0xd6e8feb86659fd93U;
  return h ^ (h >> 29U);
}

void launch_list::add(const launch& each, const void* params) {
  const std::size_t units = (each.params_bytes + sizeof(unit) - 1) / sizeof(unit);
  const std::size_t begin = blocks_.size();
  blocks_.resize(begin + units);
  std::memcpy(blocks_.data() + begin, params, each.params_bytes);
  entries_.push_back({each, begin});
  hash_ = mix(hash_, reinterpret_cast<std::uintptr_t>(each.function));
  hash_ = mix(mix(hash_, hash_of(each.grid)), hash_of(each.block));
  hash_ = mix(mix(hash_, each.shared_bytes), each.params_bytes);
}

void launch_list::clear() noexcept {
  entries_.clear();
  blocks_.clear();
  hash_ = 0;
}

bool launch_list::same_shape(const launch_list& other) const noexcept {
  if (hash_ != other.hash_ || size() != other.size()) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!same_kernel(at(i), other.at(i))) return false;
  }
  return true;
}

bool launch_list::same_params(const launch_list& other, std::size_t i) const noexcept {
  return std::memcmp(params(i), other.params(i), at(i).params_bytes) == 0;
}

std::vector<std::size_t> launch_list::changes(const launch_list& other) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!same_params(other, i)) found.push_back(i);
  }
  return found;
}

std::uint64_t launch_list::params_hash() const noexcept {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(blocks_.data()), bytes()});
}

}  // namespace halocline::backend::graph
