// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/context.hpp"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "halocline/arith/modulus.hpp"
#include "halocline/backend/table_recipe.hpp"
#include "halocline/ring/automorphism.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::ring {
namespace {

// Identities of tables, of which a runtime has one set: numbers chosen at random.
constexpr std::uint64_t moduli_identity = 0x6d1f8a3c52e94b07;
constexpr std::uint64_t roots_identity = 0xc2b7e4950d38f61a;
constexpr std::uint64_t permutation_identity = 0x3e96d05bf7a18c42;  ///< plus the Galois element

template <typename WordT>
void write_moduli(backend::backend& device, const memory::buffer& to, std::span<const std::uint64_t> primes) {
  std::vector<arith::modulus<WordT>> moduli;
  for (const std::uint64_t prime : primes) moduli.push_back(arith::make_modulus(static_cast<WordT>(prime)));
  device.upload(to, 0, std::as_bytes(std::span(moduli)));
}

/// Returns i modulo each prime.
template <typename WordT>
std::vector<std::uint64_t> write_roots(backend::backend& device, const memory::buffer& to,
                                       std::span<const std::uint64_t> primes, unsigned log_n) {
  std::vector<std::uint64_t> imaginary_units;
  std::vector<WordT> roots(std::size_t{4} << log_n);
  for (std::size_t i = 0; i < primes.size(); ++i) {
    fill_roots<WordT>(arith::make_modulus(static_cast<WordT>(primes[i])), log_n, roots);
    imaginary_units.push_back(roots[1]);  // psi^bitrev(1) = psi^(N/2)
    device.upload(to, i * roots.size() * sizeof(WordT), std::as_bytes(std::span(roots)));
  }
  return imaginary_units;
}

}  // namespace

template <typename WordT>
void context::upload_moduli() {
  write_moduli<WordT>(device(), tables_.moduli, tables_.primes);
  const auto write = [device = home_->device.get(), primes = tables_.primes](const memory::buffer& to) {
    write_moduli<WordT>(*device, to, primes);
  };
  runtime().set_recipe(tables_.moduli, std::make_shared<backend::table_recipe>(write));
}

template <typename WordT>
void context::upload_roots() {
  if (!runtime().is_ghost()) {
    imaginary_units_ = write_roots<WordT>(device(), tables_.roots, tables_.primes, tables_.log_n);
  }
  const auto write = [device = home_->device.get(), primes = tables_.primes, log_n = tables_.log_n](
                         const memory::buffer& to) { (void)write_roots<WordT>(*device, to, primes, log_n); };
  runtime().set_recipe(tables_.roots, std::make_shared<backend::table_recipe>(write));
}

context::context(ring::shape shape, std::shared_ptr<backend::backend> device, transform_tables transforms,
                 std::optional<params::parameters> parameters)
    : shape_(std::move(shape)),
      home_(std::make_shared<const ring::home>(ring::home{std::move(device), std::move(parameters)})) {
  tables_.log_n = shape_.log_n;
  tables_.word_bits = shape_.word_bits;
  tables_.primes = shape_.primes;
  const bool narrow = tables_.word_bits == 32;
  const std::size_t entry =
      narrow ? sizeof(arith::modulus<std::uint32_t>) : sizeof(arith::modulus<std::uint64_t>);
  imaginary_units_.resize(tables_.primes.size());
  memory::runtime& memory = runtime();
  tables_.moduli = memory.allocate(tables_.primes.size() * entry, memory::object_class::table, "ring.moduli");
  // A plan of the next program finds the tables in memory by these names.
  memory.set_identity(tables_.moduli, moduli_identity);
  narrow ? upload_moduli<std::uint32_t>() : upload_moduli<std::uint64_t>();
  if (transforms == transform_tables::now) prepare_transforms();
}

void context::prepare_transforms() {
  if (tables_.roots) return;
  memory::buffer roots = runtime().allocate(tables_.primes.size() * 4 * tables_.limb_bytes(),
                                            memory::object_class::table, "ring.roots");
  runtime().set_identity(roots, roots_identity);
  tables_.roots = std::move(roots);
  tables_.word_bits == 32 ? upload_roots<std::uint32_t>() : upload_roots<std::uint64_t>();
}

const memory::buffer& context::permutation(std::uint64_t galois_element) {
  const auto found = permutations_.find(galois_element);
  if (found != permutations_.end()) return found->second;
  check_galois_element(galois_element, tables_.log_n);
  // A ghost needs the table's size only: a program with many rotations would spend its ghost pass on tables.
  const std::vector<std::uint32_t> index = runtime().is_ghost()
                                               ? std::vector<std::uint32_t>(tables_.n())
                                               : automorphism_permutation(galois_element, tables_.log_n);
  memory::buffer table = runtime().allocate(index.size() * sizeof(std::uint32_t), memory::object_class::table,
                                            "ring.permutation");
  device().upload(table, 0, std::as_bytes(std::span(index)));
  runtime().set_identity(table, permutation_identity + galois_element);
  const auto write = [device = home_->device.get(), galois_element,
                      log_n = tables_.log_n](const memory::buffer& to) {
    const std::vector<std::uint32_t> again = automorphism_permutation(galois_element, log_n);
    device->upload(to, 0, std::as_bytes(std::span(again)));
  };
  runtime().set_recipe(table, std::make_shared<backend::table_recipe>(write));
  return permutations_.emplace(galois_element, std::move(table)).first->second;
}

}  // namespace halocline::ring
