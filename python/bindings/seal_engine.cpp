// SPDX-License-Identifier: Apache-2.0
// Computing with the integers of SEAL.
#include "halocline/backend/registry.hpp"
#include "halocline/seal/evaluator.hpp"
#include "pir.hpp"
#include "seal.hpp"

namespace halocline::python {
namespace {

/// An engine: a parameter set on a device, and keys.
struct seal_engine {
  seal_engine(const bound_chain& of, const std::shared_ptr<backend::backend>& device, bool allow_insecure)
      : ctx(of.value->top(), device, allow_insecure), on(ctx) {}

  seal::context ctx;
  seal::batch_evaluator on;
  seal::switch_key_set relin;
  seal::switch_key_set galois;
};

struct bound_engine_of_seal {
  std::shared_ptr<retrieval_site> where;
  chain_handle chain;
  owned<seal_engine> value;
};
struct bound_device_ct {
  std::shared_ptr<retrieval_site> where;
  owned<seal::ciphertext> value;
};
struct bound_matrix {
  std::shared_ptr<retrieval_site> where;
  owned<seal::ciphertext_matrix> value;
};
struct bound_device_pt {
  std::shared_ptr<retrieval_site> where;
  owned<seal::plaintext> value;
};

bound_engine_of_seal make_engine(const bound_chain& of, const std::string& device, unsigned threads,
                                 bool allow_insecure, bool scalar, const std::string& policy) {
  const released meanwhile;
  backend::backend_options options;
  options.threads = unless_zero(threads);
  options.scalar = scalar;
  options.memory.policy = policy;
  if (policy == "async") options.memory.cache_bytes = 0;  // nothing kept, also on CPUs
  const auto where = std::make_shared<retrieval_site>(backend::make_backend(device, options));
  return {where, of.value, {new seal_engine(of, where->device, allow_insecure), {where}}};
}

/// A ciphertext that `body(engine)` makes.
template <typename BodyT>
bound_device_ct compute(bound_engine_of_seal& self, BodyT body) {
  return locked(*self.where, [&] {
    return bound_device_ct{self.where, {new seal::ciphertext(body(*self.value)), {self.where}}};
  });
}
template <typename BodyT>
bound_device_pt compute_plain(bound_engine_of_seal& self, BodyT body) {
  return locked(*self.where, [&] {
    return bound_device_pt{self.where, {new seal::plaintext(body(*self.value)), {self.where}}};
  });
}

using given_cts = std::vector<const bound_device_ct*>;
using given_pts = std::vector<const bound_device_pt*>;
using made_cts = std::vector<bound_device_ct>;

template <typename ValueT, typename BoundT>
std::vector<const ValueT*> values_of(const std::vector<const BoundT*>& of) {
  std::vector<const ValueT*> made;
  for (const BoundT* each : of) made.push_back(each->value.get());
  return made;
}
std::vector<const seal::ciphertext*> values(const given_cts& of) { return values_of<seal::ciphertext>(of); }
std::vector<const seal::plaintext*> values(const given_pts& of) { return values_of<seal::plaintext>(of); }

/// The ciphertexts that `body(engine)` makes.
template <typename BodyT>
made_cts compute_all(bound_engine_of_seal& self, BodyT body) {
  return locked(*self.where, [&] {
    made_cts made;
    for (seal::ciphertext& each : body(*self.value)) {
      made.push_back({self.where, {new seal::ciphertext(std::move(each)), {self.where}}});
    }
    return made;
  });
}

using batch = seal::batch_evaluator;

template <batch::results (batch::*Call)(seal::ciphertexts)>
made_cts unary(bound_engine_of_seal& self, const given_cts& a) {
  return compute_all(self, [&](seal_engine& e) { return (e.on.*Call)(values(a)); });
}
template <batch::results (batch::*Call)(seal::ciphertexts, seal::ciphertexts)>
made_cts binary(bound_engine_of_seal& self, const given_cts& a, const given_cts& b) {
  return compute_all(self, [&](seal_engine& e) { return (e.on.*Call)(values(a), values(b)); });
}
template <batch::results (batch::*Call)(seal::ciphertexts, seal::plaintexts)>
made_cts with_plain(bound_engine_of_seal& self, const given_cts& a, const given_pts& b) {
  return compute_all(self, [&](seal_engine& e) { return (e.on.*Call)(values(a), values(b)); });
}

bound_ct store_ct(bound_engine_of_seal& self, const bound_device_ct& from) {
  return {self.chain, locked(*self.where, [&] { return seal::store(self.value->ctx, *from.value); })};
}
bound_pt store_pt(bound_engine_of_seal& self, const bound_device_pt& from) {
  return {self.chain, locked(*self.where, [&] { return seal::store(self.value->ctx, *from.value); })};
}

void bind_device_objects(nb::module_& module) {
  nb::class_<bound_device_ct>(module, "SealDeviceCiphertext")
      .def_prop_ro("size", [](const bound_device_ct& self) { return self.value->parts.size(); })
      .def_prop_ro("prime_count", [](const bound_device_ct& self) { return self.value->parts.primes(); })
      .def_prop_rw(
          "scale", [](const bound_device_ct& self) { return self.value->scale; },
          [](bound_device_ct& self, double scale) { self.value->scale = scale; });
  nb::class_<bound_device_pt>(module, "SealDevicePlaintext")
      .def_prop_ro("prime_count", [](const bound_device_pt& self) { return self.value->part.primes(); })
      .def_prop_rw(
          "scale", [](const bound_device_pt& self) { return self.value->scale; },
          [](bound_device_pt& self, double scale) { self.value->scale = scale; });
}

using engine_class = nb::class_<bound_engine_of_seal>;

void set_relin_keys(bound_engine_of_seal& self, const bound_relin& keys) {
  locked(*self.where, [&] { self.value->relin = seal::load_relin_keys(self.value->ctx, keys.value); });
}
void set_galois_keys(bound_engine_of_seal& self, const bound_galois& keys) {
  locked(*self.where, [&] { self.value->galois = seal::load_galois_keys(self.value->ctx, keys.value); });
}
bound_device_ct load_ct(bound_engine_of_seal& self, const bound_ct& from) {
  return compute(self, [&](seal_engine& e) { return seal::load(e.ctx, from.value); });
}
bound_device_pt load_pt(bound_engine_of_seal& self, const bound_pt& from) {
  return compute_plain(self, [&](seal_engine& e) { return seal::load(e.ctx, from.value); });
}

void bind_sums_and_products(engine_class& engine) {
  engine.def("negate", unary<&batch::negate>)
      .def("add", binary<&batch::add>)
      .def("sub", binary<&batch::sub>)
      .def("add_plain", with_plain<&batch::add_plain>)
      .def("sub_plain", with_plain<&batch::sub_plain>)
      .def("multiply_plain", with_plain<&batch::multiply_plain>)
      .def("multiply", binary<&batch::multiply>)
      .def("square", unary<&batch::square>)
      .def("rescale_to_next", unary<&batch::rescale_to_next>)
      .def("mod_switch_to_next", unary<&batch::mod_switch_to_next>)
      .def("mod_switch_plain", [](bound_engine_of_seal& self, const bound_device_pt& a) {
        return compute_plain(
            self, [&](seal_engine& e) { return seal::evaluator(e.ctx).mod_switch_to_next(*a.value); });
      });
}

/// Operations that use keys. `body` gets the engine's parts, the ciphertexts and the number.
template <typename BodyT>
auto with_number(BodyT body) {
  return [body](bound_engine_of_seal& self, const given_cts& a, std::int64_t number) {
    return compute_all(self, [&](seal_engine& e) { return body(e, values(a), number); });
  };
}

void bind_key_switches(engine_class& engine) {
  using cts = seal::ciphertexts;
  engine
      .def("relinearize",
           [](bound_engine_of_seal& self, const given_cts& a) {
             return compute_all(self, [&](seal_engine& e) { return e.on.relinearize(values(a), e.relin); });
           })
      .def("complex_conjugate",
           [](bound_engine_of_seal& self, const given_cts& a) {
             return compute_all(self,
                                [&](seal_engine& e) { return e.on.complex_conjugate(values(a), e.galois); });
           })
      .def("rotate_vector", with_number([](seal_engine& e, cts a, std::int64_t steps) {
             return e.on.rotate_vector(a, steps, e.galois);
           }))
      .def("apply_galois", with_number([](seal_engine& e, cts a, std::int64_t element) {
             return e.on.apply_galois(a, static_cast<std::uint64_t>(element), e.galois);
           }));
}

template <typename BodyT>
bound_matrix compute_matrix(bound_engine_of_seal& self, BodyT body) {
  return locked(*self.where, [&] {
    return bound_matrix{self.where, {new seal::ciphertext_matrix(body(*self.value)), {self.where}}};
  });
}

void bind_matrices(nb::module_& module, engine_class& engine) {
  nb::class_<bound_matrix>(module, "SealMatrix")
      .def_prop_ro("rows", [](const bound_matrix& self) { return self.value->rows; })
      .def_prop_ro("columns", [](const bound_matrix& self) { return self.value->columns; })
      .def_prop_ro("size", [](const bound_matrix& self) { return self.value->size; })
      .def_prop_ro("prime_count", [](const bound_matrix& self) { return self.value->parts.primes(); })
      .def_prop_ro("scale", [](const bound_matrix& self) { return self.value->scale; });
  engine
      .def("make_matrix",
           [](bound_engine_of_seal& self, const given_cts& entries, std::uint32_t rows,
              std::uint32_t columns) {
             return compute_matrix(
                 self, [&](seal_engine& e) { return e.on.make_matrix(values(entries), rows, columns); });
           })
      .def("entries",
           [](bound_engine_of_seal& self, const bound_matrix& of, const std::vector<std::uint32_t>& numbers) {
             return compute_all(self, [&](seal_engine& e) { return e.on.entries(*of.value, numbers); });
           })
      .def("multiply_matrices",
           [](bound_engine_of_seal& self, const bound_matrix& a, const bound_matrix& b) {
             return compute_matrix(self, [&](seal_engine& e) { return e.on.multiply(*a.value, *b.value); });
           })
      .def("add_matrix_product",
           [](bound_engine_of_seal& self, bound_matrix& c, const bound_matrix& a, const bound_matrix& b) {
             locked(*self.where, [&] { self.value->on.add_product(*c.value, *a.value, *b.value); });
           });
}

/// Operands and keys for measurements.
void bind_uniform(engine_class& engine) {
  engine
      .def("uniform_ciphertext",
           [](bound_engine_of_seal& self, std::uint32_t primes, double scale, std::uint32_t seed) {
             return compute(self, [&](seal_engine& e) {
               return seal::uniform_ciphertext(e.ctx, 2, primes, scale, seed);
             });
           })
      .def("transform",
           [](bound_engine_of_seal& self, const given_cts& all, bool inverse) {
             locked(*self.where, [&] {
               std::vector<backend::unary_job> jobs;
               for (const seal::ciphertext* each : values(all)) {
                 for (std::uint32_t i = 0; i < each->parts.size(); ++i) {
                   jobs.push_back({each->parts.part(i), each->parts.part(i)});
                 }
               }
               const auto& ring = self.value->ctx.tables();
               inverse ? self.where->device->intt(ring, jobs) : self.where->device->ntt(ring, jobs);
             });
           })
      .def("use_uniform_keys",
           [](bound_engine_of_seal& self, const std::vector<std::uint64_t>& elements, std::uint32_t seed) {
             locked(*self.where, [&] {
               self.value->relin = seal::uniform_keys(self.value->ctx, {0}, seed);
               self.value->galois = seal::uniform_keys(self.value->ctx, elements, seed + 1);
             });
           });
}

void bind_programs(engine_class& engine) {
  engine
      .def("wait",
           [](bound_engine_of_seal& self) { locked(*self.where, [&] { self.where->device->wait(); }); })
      .def(
          "begin_program",
          [](bound_engine_of_seal& self, std::uint64_t key) {
            locked(*self.where, [&] { self.where->device->begin_program(key); });
          },
          nb::arg("key"))
      .def("end_program", [](bound_engine_of_seal& self) {
        locked(*self.where, [&] { self.where->device->end_program(); });
      });
}

}  // namespace

void bind_seal_engine(nb::module_& module) {
  bind_device_objects(module);
  engine_class engine(module, "SealEngine");
  engine
      .def_static("make", make_engine, nb::arg("parameters"), nb::arg("device"), nb::arg("threads"),
                  nb::arg("allow_insecure"), nb::arg("scalar"), nb::arg("policy"))
      .def("set_relin_keys", set_relin_keys)
      .def("set_galois_keys", set_galois_keys)
      .def("load_ciphertext", load_ct)
      .def("load_plaintext", load_pt)
      .def("store_ciphertext", store_ct)
      .def("store_plaintext", store_pt);
  bind_sums_and_products(engine);
  bind_key_switches(engine);
  bind_matrices(module, engine);
  bind_uniform(engine);
  bind_programs(engine);
}

}  // namespace halocline::python
