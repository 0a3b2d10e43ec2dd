// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"

#include <algorithm>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/encryptor.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/ring/sampler.hpp"

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

bound_client make_client(const params::parameters& p, unsigned threads, const std::optional<nb::bytes>& seed,
                         const std::string& device, std::size_t budget_bytes, const std::string& policy,
                         const memory::runtime_options& memory) {
  const ckks::client_options options{unless_zero(threads), seed_of(seed), device,
                                     with_budget(memory, budget_bytes, policy)};
  const released meanwhile;
  auto client = std::make_unique<ckks::client>(p, options);
  auto where = std::make_shared<domain>(client->context_handle());
  return {where, own(where, std::move(client)), home_of_keys(where, p, options)};
}

bound_ciphertext encrypt(bound_client& self, const complex_array& values, std::optional<unsigned> level,
                         std::optional<double> scale, std::uint32_t slots, bool use_public_key) {
  const ckks::encrypt_options options{level, scale, unless_zero(slots), use_public_key};
  return locked(*self.where, [&] {
    return bound_ciphertext{self.where, self.value->encrypt(span_of(values), options)};
  });
}

auto decrypt(bound_client& self, const bound_ciphertext& ct, double flooding_bits) {
  return to_numpy(locked(*self.where, *ct.where, [&] {
    // Before anything is copied to the client's device.
    (void)ckks::common_key(ct.value.key, self.value->id(), "decrypt", "the ciphertext", "the client");
    if (self.where == ct.where) return self.value->decrypt(ct.value, flooding_bits);
    return self.value->decrypt(self.value->receive(ct.value), flooding_bits);
  }));
}

bound_keys new_keys(bound_client& self) {
  return {self.home, ckks::memory_key_set(self.value->parameters(), self.value->id())};
}

void generate_key(bound_client& self, bound_keys& into, std::uint64_t galois_element, unsigned level,
                  bool seeded) {
  HALOCLINE_EXPECTS(self.home == into.where, invalid_argument,
                    "generate_key: the bundle is another client's");
  locked(*self.where, *self.home, [&] {
    ckks::evaluation_key key = self.value->make_key({galois_element, level}, seeded);
    if (self.where != self.home) key = ckks::transfer(key, *self.home->ctx);
    into.value.add(std::move(key));
  });
}

/// Copies the keys of another bundle into one of the client.
void adopt_keys(bound_client& self, bound_keys& into, const bound_keys& from) {
  HALOCLINE_EXPECTS(self.home == into.where, invalid_argument, "adopt_keys: the bundle is another client's");
  locked(*from.where, *self.home, [&] {
    for (const auto& [element, key] : from.value.keys()) {
      into.value.add(ckks::transfer(key, *self.home->ctx));
    }
  });
}

bound_public_key public_key(bound_client& self) {
  return locked(*self.where, [&] { return bound_public_key{self.where, self.value->public_key()}; });
}

/// Encryption by a party that has the public key only.
bound_ciphertext encrypt_with(const bound_public_key& key, const complex_array& values, unsigned level,
                              std::optional<double> scale, std::uint32_t slots) {
  return locked(*key.where, [&] {
    ckks::context& ctx = *key.where->ctx;
    ctx.ring().prepare_transforms();
    ring::random_source random;
    ckks::encoder encoder(ctx);
    ckks::encryptor encryptor(ctx, random);
    const double used_scale = scale.value_or(ctx.parameters().level(level).scale);
    const ckks::plaintext message = encoder.encode(span_of(values), level, used_scale, unless_zero(slots));
    return bound_ciphertext{key.where, encryptor.encrypt(message, *key.value)};
  });
}

/// Peak and live bytes of the client's device, without a split by class.
nb::dict statistics_of(const domain& where) {
  const memory::stats s = where.ctx->runtime().statistics();
  nb::dict out;
  out["live_bytes"] = s.live_bytes;
  out["peak_bytes"] = s.peak_bytes;
  out["peak_fast_bytes"] = s.peak_fast_bytes;
  out["repairs"] = s.moved.repairs;
  out["repaired_bytes"] = s.moved.repaired_bytes;
  out["losses"] = s.moved.losses;
  out["lost_bytes"] = s.moved.lost_bytes;
  return out;
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
      .def_prop_ro("key_id", [](const bound_ciphertext& ct) { return known(ct.value.key); });
}

}  // namespace

std::shared_ptr<domain> home_of_keys(const std::shared_ptr<domain>& where, const params::parameters& p,
                                     const ckks::client_options& options) {
  return options.device == "cpu" && options.memory.budget_bytes == 0 ? where : shared_domain(p);
}

void bind_client(nb::module_& module) {
  bind_ciphertext(module);
  nb::class_<bound_client>(module, "Client")
      .def_static("make", make_client, nb::arg("params"), nb::arg("threads"), nb::arg("seed").none(),
                  nb::arg("device"), nb::arg("budget_bytes"), nb::arg("policy"), nb::arg("memory"))
      .def("statistics", [](const bound_client& self) { return statistics_of(*self.where); })
      .def_prop_ro("params", [](const bound_client& self) { return self.value->parameters(); })
      .def_prop_ro("key_id", [](const bound_client& self) { return known(self.value->id()); })
      .def("assign_key_id",
           [](const bound_client& self) { locked(*self.where, [&] { self.value->assign_id(); }); })
      .def("encrypt", encrypt, nb::arg("values"), nb::arg("level").none(), nb::arg("scale").none(),
           nb::arg("slots"), nb::arg("use_public_key"))
      .def("decrypt", decrypt, nb::arg("ciphertext"), nb::arg("flooding_bits"))
      .def("new_keys", new_keys)
      .def("trim", [](const bound_client& self) { self.where->ctx->runtime().trim(); })
      .def("generate_key", generate_key, nb::arg("into"), nb::arg("galois_element"), nb::arg("level"),
           nb::arg("seeded"))
      .def("adopt_keys", adopt_keys, nb::arg("into"), nb::arg("source"))
      .def("public_key", public_key);
  module.def("encrypt_with", encrypt_with, nb::arg("key"), nb::arg("values"), nb::arg("level"),
             nb::arg("scale").none(), nb::arg("slots"));
}

}  // namespace halocline::python
