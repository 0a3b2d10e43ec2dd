// SPDX-License-Identifier: Apache-2.0
// The single steps of a client, and products with a vector that was encoded before: for programs that use one
// vector many times, and for benchmarks that time each step.
#include <bit>
#include <type_traits>

#include "bindings.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::python {
namespace {

/// An encoded vector; `where` comes first for the reason given in bindings.hpp.
struct bound_plaintext {
  std::shared_ptr<domain> where;
  ckks::plaintext value;
};

using real_array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

ckks::encoder& encoder_of(bound_client& owner) { return owner.value->encoder(); }
ckks::encoder& encoder_of(bound_engine& owner) { return owner.value->evaluator().encoder(); }

/// Lets plans find a plaintext that is kept: one for each vector, level, scale and number of slots.
template <typename ValueT>
void name_plaintext(ckks::context& ctx, const ckks::plaintext& value, std::span<const ValueT> from) {
  const std::vector<std::complex<double>> values(from.begin(), from.end());
  const std::uint64_t shape = std::uint64_t{value.slots} << 32 | value.level;
  ckks::register_plaintext(ctx, value.value,
                           ckks::identity_of("kept plaintext", ckks::hash_of(values), shape,
                                             std::bit_cast<std::uint64_t>(value.scale)),
                           nullptr);
}

template <typename OwnerT, typename ArrayT>
bound_plaintext encode(OwnerT& owner, const ArrayT& values, unsigned level, std::optional<double> scale,
                       std::uint32_t slots, bool kept) {
  constexpr bool is_client = std::is_same_v<OwnerT, bound_client>;
  HALOCLINE_EXPECTS(!kept || !is_client, invalid_argument,
                    "encode: a client keeps no vectors: plans and traces would have their hashes");
  return locked(*owner.where, [&] {
    const std::span view(values.data(), values.size());
    const double used_scale = scale.value_or(owner.value->parameters().level(level).scale);
    bound_plaintext made{owner.where, encoder_of(owner).encode(view, level, used_scale, unless_zero(slots))};
    if (kept) name_plaintext(*owner.where->ctx, made.value, view);
    return made;
  });
}

bound_ciphertext encrypt_plain(bound_client& client, const bound_plaintext& message, bool use_public_key) {
  return locked(*client.where, *message.where, [&] {
    return bound_ciphertext{client.where, client.value->encrypt_plain(message.value, use_public_key)};
  });
}

bound_plaintext decrypt_plain(bound_client& client, const bound_ciphertext& ct) {
  return locked(*client.where, *ct.where, [&] {
    return bound_plaintext{client.where, client.value->decrypt_plain(ct.value)};
  });
}

auto decode_plaintext(bound_client& client, const bound_plaintext& message) {
  HALOCLINE_EXPECTS(client.where == message.where, invalid_argument,
                    "decode: the plaintext belongs to another client or engine");
  return to_numpy(
      locked(*client.where, *message.where, [&] { return client.value->encoder().decode(message.value); }));
}

bound_ciphertext multiply_plain(bound_engine& engine, const bound_ciphertext& ct, const bound_plaintext& p) {
  return evaluate(engine, [&](ckks::evaluator& v) { return v.multiply_plain(ct.value, p.value); });
}

bound_ciphertext add_plain(bound_engine& engine, const bound_ciphertext& ct, const bound_plaintext& p) {
  return evaluate(engine, [&](ckks::evaluator& v) { return v.add_plain(ct.value, p.value); });
}

template <typename OwnerT, typename ArrayT>
void define_encode(nb::module_& module) {
  module.def("encode", encode<OwnerT, ArrayT>, nb::arg("owner"), nb::arg("values"), nb::arg("level"),
             nb::arg("scale").none() = nb::none(), nb::arg("slots") = 0, nb::arg("kept") = false,
             "Encodes values for a client or an engine; slots 0 is the next power of two of their number. "
             "kept: for many runs of a program, so that plans can load it ahead.");
}

}  // namespace

void bind_plaintext(nb::module_& module) {
  nb::class_<bound_plaintext>(module, "Plaintext", "A vector encoded at a level and scale.")
      .def_prop_ro("level", [](const bound_plaintext& p) { return p.value.level; })
      .def_prop_ro("scale", [](const bound_plaintext& p) { return p.value.scale; })
      .def_prop_ro("slots", [](const bound_plaintext& p) { return p.value.slots; })
      .def_prop_ro("nbytes", [](const bound_plaintext& p) { return p.value.bytes(); });
  // Complex first: arrays of other types are converted to what comes first, which must not lose anything.
  define_encode<bound_client, complex_array>(module);
  define_encode<bound_client, real_array>(module);
  define_encode<bound_engine, complex_array>(module);
  define_encode<bound_engine, real_array>(module);
  module.def("encrypt_plain", encrypt_plain, nb::arg("client"), nb::arg("plaintext"),
             nb::arg("use_public_key"), "Encrypts an encoded vector of this client.");
  module.def("decrypt_plain", decrypt_plain, nb::arg("client"), nb::arg("ciphertext"),
             "Decrypts without decoding, over all primes; the ciphertext must live in the client's context.");
  module.def("decode", decode_plaintext, nb::arg("client"), nb::arg("plaintext"),
             "Values of an encoded vector.");
  module.def("multiply_plain", multiply_plain, nb::arg("engine"), nb::arg("ciphertext"), nb::arg("plaintext"),
             "Product at the product of the scales, not rescaled; levels must agree.");
  module.def("add_plain", add_plain, nb::arg("engine"), nb::arg("ciphertext"), nb::arg("plaintext"),
             "Sum; level and scale must agree.");
}

}  // namespace halocline::python
