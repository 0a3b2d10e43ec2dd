// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/context.hpp"

#include <span>
#include <utility>
#include <vector>

#include "halocline/ring/automorphism.hpp"
#include "halocline/ring/modulus.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::ring {
namespace {

// Identities of tables, of which a runtime has one set: numbers chosen at random.
constexpr std::uint64_t moduli_identity = 0x6d1f8a3c52e94b07;
constexpr std::uint64_t roots_identity = 0xc2b7e4950d38f61a;
constexpr std::uint64_t permutation_identity = 0x3e96d05bf7a18c42;  ///< plus the Galois element

}  // namespace

template <typename WordT>
void context::upload_moduli() {
  std::vector<modulus<WordT>> moduli;
  for (const std::uint64_t prime : tables_.primes) moduli.push_back(make_modulus(static_cast<WordT>(prime)));
  device_->upload(tables_.moduli, 0, std::as_bytes(std::span(moduli)));
}

template <typename WordT>
void context::upload_roots() {
  if (runtime().is_ghost()) return;
  std::vector<WordT> roots(4 * tables_.n());
  for (std::size_t i = 0; i < tables_.primes.size(); ++i) {
    fill_roots<WordT>(make_modulus(static_cast<WordT>(tables_.primes[i])), tables_.log_n, roots);
    imaginary_units_[i] = roots[1];  // psi^bitrev(1) = psi^(N/2)
    device_->upload(tables_.roots, i * roots.size() * sizeof(WordT), std::as_bytes(std::span(roots)));
  }
}

context::context(params::parameters parameters, std::shared_ptr<backend::backend> device,
                 transform_tables transforms)
    : parameters_(std::move(parameters)), device_(std::move(device)) {
  tables_.log_n = parameters_.log_n();
  tables_.word_bits = parameters_.word_bits();
  const auto primes = parameters_.primes();
  tables_.primes.assign(primes.begin(), primes.end());
  const bool narrow = tables_.word_bits == 32;
  const std::size_t entry = narrow ? sizeof(modulus<std::uint32_t>) : sizeof(modulus<std::uint64_t>);
  imaginary_units_.resize(primes.size());
  memory::runtime& memory = runtime();
  tables_.moduli = memory.allocate(primes.size() * entry, memory::object_class::table, "ring.moduli");
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
  device_->upload(table, 0, std::as_bytes(std::span(index)));
  runtime().set_identity(table, permutation_identity + galois_element);
  return permutations_.emplace(galois_element, std::move(table)).first->second;
}

}  // namespace halocline::ring
