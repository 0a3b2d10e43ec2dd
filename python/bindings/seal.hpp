// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "bindings.hpp"
#include "halocline/seal_format/chain.hpp"

/// Objects of SEAL in host memory, as Python holds them.
namespace halocline::python {

namespace format = seal_format;
using chain_handle = std::shared_ptr<const format::modulus_chain>;

/// A parameter set.
struct bound_chain {
  chain_handle value;
};

/// An object of a parameter set. The number distinguishes kinds with the same structure.
template <typename ValueT, int kind>
struct of_chain {
  chain_handle chain;
  ValueT value;
};
using bound_ct = of_chain<format::ciphertext, 0>;
using bound_pt = of_chain<format::plaintext, 0>;
using bound_public = of_chain<format::ciphertext, 1>;
using bound_relin = of_chain<format::switch_keys, 0>;
using bound_galois = of_chain<format::switch_keys, 1>;

/// The engine, and what is in its memory.
void bind_seal_engine(nb::module_& module);

}  // namespace halocline::python
