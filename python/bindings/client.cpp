// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"

#include <algorithm>

#include "halocline/core/expects.hpp"

namespace halocline::python {
namespace {

std::optional<backend::seed_bytes> seed_of(const std::optional<nb::bytes>& bytes) {
  if (!bytes) return std::nullopt;
  backend::seed_bytes seed{};
  HALOCLINE_EXPECTS(bytes->size() == seed.size(), invalid_argument, "client: the seed has ", bytes->size(),
                    " bytes; expected ", seed.size());
  std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes->c_str()), seed.size(), seed.begin());
  return seed;
}

bound_client make_client(const params::parameters& p, unsigned threads,
                         const std::optional<nb::bytes>& seed) {
  const ckks::client_options options{threads, seed_of(seed)};
  const nb::gil_scoped_release released;
  auto client = std::make_unique<ckks::client>(p, options);
  return {std::make_shared<domain>(client->ctx_handle()), std::move(client)};
}

bound_ciphertext encrypt(bound_client& self, const complex_array& values, std::optional<unsigned> level,
                         std::optional<double> scale, std::uint32_t slots, bool use_public_key) {
  const ckks::encrypt_options options{level, scale, slots, use_public_key};
  return locked(*self.where, [&] {
    return bound_ciphertext{self.where, self.value->encrypt(span_of(values), options)};
  });
}

auto decrypt(bound_client& self, const bound_ciphertext& ct, double flooding_bits) {
  return to_numpy(locked(*self.where, *ct.where, [&] {
    if (self.where == ct.where) return self.value->decrypt(ct.value, flooding_bits);
    ckks::check(*ct.where->ctx, ct.value, "decrypt");
    return self.value->decrypt(ckks::transfer(*ct.where->ctx, ct.value, *self.where->ctx), flooding_bits);
  }));
}

bound_keys new_keys(bound_client& self) {
  return {self.where, ckks::memory_key_set(self.value->parameters())};
}

void generate_key(bound_client& self, bound_keys& into, std::uint64_t galois_element, unsigned level,
                  bool seeded) {
  HALOCLINE_EXPECTS(self.where == into.where, invalid_argument,
                    "generate_key: the bundle is another client's");
  locked(*self.where, [&] { into.value.add(self.value->make_key({galois_element, level}, seeded)); });
}

bound_public_key public_key(bound_client& self) {
  return locked(*self.where, [&] { return bound_public_key{self.where, self.value->encryption_key()}; });
}

/// Encryption by somebody who has the public key only.
bound_ciphertext encrypt_with(const bound_public_key& key, const complex_array& values, unsigned level,
                              std::optional<double> scale, std::uint32_t slots) {
  return locked(*key.where, [&] {
    ckks::context& ctx = *key.where->ctx;
    ring::random_source random;
    ckks::encoder encoder(ctx);
    ckks::encryptor encryptor(ctx, random);
    const double used_scale = scale.value_or(ctx.parameters().level(level).scale);
    const ckks::plaintext message = encoder.encode(span_of(values), level, used_scale, slots);
    return bound_ciphertext{key.where, encryptor.encrypt(message, *key.value)};
  });
}

void bind_ciphertext(nb::module_& module) {
  nb::class_<bound_ciphertext>(module, "Ciphertext")
      .def_prop_ro("params", [](const bound_ciphertext& ct) { return ct.where->ctx->parameters(); })
      .def_prop_ro("level", [](const bound_ciphertext& ct) { return ct.value.level; })
      .def_prop_ro("scale", [](const bound_ciphertext& ct) { return ct.value.scale; })
      .def_prop_ro("slots", [](const bound_ciphertext& ct) { return ct.value.slots; })
      .def_prop_ro("parts", [](const bound_ciphertext& ct) { return ct.value.parts.size(); })
      .def_prop_ro("seeded", [](const bound_ciphertext& ct) { return ct.value.seed.has_value(); })
      .def_prop_ro("nbytes", [](const bound_ciphertext& ct) { return ct.value.bytes(); })
      .def("clone", [](const bound_ciphertext& ct) {
        return locked(*ct.where, [&] {
          return bound_ciphertext{ct.where, ckks::clone(*ct.where->ctx, ct.value)};
        });
      });
}

}  // namespace

void bind_client(nb::module_& module) {
  bind_ciphertext(module);
  nb::class_<bound_client>(module, "Client")
      .def_static("make", make_client, nb::arg("params"), nb::arg("threads"), nb::arg("seed").none())
      .def_prop_ro("params", [](const bound_client& self) { return self.value->parameters(); })
      .def("encrypt", encrypt, nb::arg("values"), nb::arg("level").none(), nb::arg("scale").none(),
           nb::arg("slots"), nb::arg("use_public_key"))
      .def("decrypt", decrypt, nb::arg("ciphertext"), nb::arg("flooding_bits"))
      .def("new_keys", new_keys)
      .def("trim", [](const bound_client& self) { self.where->ctx->runtime().trim(); })
      .def("generate_key", generate_key, nb::arg("into"), nb::arg("galois_element"), nb::arg("level"),
           nb::arg("seeded"))
      .def("public_key", public_key);
  module.def("encrypt_with", encrypt_with, nb::arg("key"), nb::arg("values"), nb::arg("level"),
             nb::arg("scale").none(), nb::arg("slots"));
}

}  // namespace halocline::python
