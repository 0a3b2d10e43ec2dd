// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>

#include "bindings.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/io/key_file.hpp"
#include "halocline/io/secret_key_file.hpp"
#include "halocline/io/serialize.hpp"

namespace halocline::python {
namespace {

std::span<const std::byte> bytes_of(const nb::bytes& data) {
  return {reinterpret_cast<const std::byte*>(data.c_str()), data.size()};
}

nb::bytes to_python(const std::vector<std::byte>& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

template <typename ValueT>
nb::bytes object_bytes(domain& where, const ValueT& value) {
  return to_python(locked(where, [&] { return io::to_bytes(*where.ctx, value); }));
}

template <typename ValueT>
void save_object(domain& where, const ValueT& value, const std::string& path) {
  locked(where, [&] { io::save(io::output(std::filesystem::path(path)), *where.ctx, value); });
}

/// Members to_bytes and save of the classes whose objects live in a domain.
void bind_saving(nb::module_& module) {
  auto ciphertext = nb::borrow<nb::class_<bound_ciphertext>>(module.attr("Ciphertext"));
  ciphertext
      .def(
          "to_bytes",
          [](bound_ciphertext& self, bool real) {
            self.value.real_hint = real;
            return object_bytes(*self.where, self.value);
          },
          nb::arg("real"))
      .def(
          "save",
          [](bound_ciphertext& self, const std::string& path, bool real) {
            self.value.real_hint = real;
            save_object(*self.where, self.value, path);
          },
          nb::arg("path"), nb::arg("real"));
  auto keys = nb::borrow<nb::class_<bound_keys>>(module.attr("EvaluationKeys"));
  keys.def("to_bytes", [](const bound_keys& self) { return object_bytes(*self.where, self.value); })
      .def(
          "save",
          [](const bound_keys& self, const std::string& path) { save_object(*self.where, self.value, path); },
          nb::arg("path"));
  auto key = nb::borrow<nb::class_<bound_public_key>>(module.attr("PublicKey"));
  key.def("to_bytes", [](const bound_public_key& self) { return object_bytes(*self.where, *self.value); })
      .def(
          "save",
          [](const bound_public_key& self, const std::string& path) {
            save_object(*self.where, *self.value, path);
          },
          nb::arg("path"));
}

/// Functions `stem`_from_bytes(data, params) and `stem`_from_file(path, params): objects in the shared
/// domain.
template <typename LoadT>
void bind_loading(nb::module_& module, const std::string& stem, LoadT load) {
  module.def((stem + "_from_bytes").c_str(),
             [load](const nb::bytes& data, const params::parameters& p) {
               const std::shared_ptr<domain> where = shared_domain(p);
               return locked(*where, [&] { return load(io::input(bytes_of(data)), where); });
             },
             nb::arg("data"), nb::arg("params"));
  module.def((stem + "_from_file").c_str(),
             [load](const std::string& path, const params::parameters& p) {
               const std::shared_ptr<domain> where = shared_domain(p);
               return locked(*where, [&] { return load(io::input(std::filesystem::path(path)), where); });
             },
             nb::arg("path"), nb::arg("params"));
}

void bind_parameters(nb::module_& module) {
  auto type = nb::borrow<nb::class_<params::parameters>>(module.attr("Params"));
  type.def("to_bytes", [](const params::parameters& p) { return to_python(io::to_bytes(p)); })
      .def(
          "save",
          [](const params::parameters& p, const std::string& path) {
            io::save(io::output(std::filesystem::path(path)), p);
          },
          nb::arg("path"));
  module.def(
      "params_from_bytes",
      [](const nb::bytes& data, bool allow_insecure) {
        return io::load_parameters(io::input(bytes_of(data)), allow_insecure);
      },
      nb::arg("data"), nb::arg("allow_insecure"));
  module.def(
      "params_from_file",
      [](const std::string& path, bool allow_insecure) {
        return io::load_parameters(io::input(std::filesystem::path(path)), allow_insecure);
      },
      nb::arg("path"), nb::arg("allow_insecure"));
}

bound_client load_client(const std::string& path, const params::parameters& p, unsigned threads,
                         const std::string& device, std::size_t budget_bytes, const std::string& policy,
                         const memory::runtime_options& memory) {
  const released meanwhile;
  const ckks::client_options options{unless_zero(threads), std::nullopt, device,
                                     with_budget(memory, budget_bytes, policy)};
  std::shared_ptr<ckks::context> ctx = ckks::make_client_context(p, options, ring::transform_tables::later);
  ckks::secret_key secret = io::load_secret_key(path, *ctx);
  auto where = std::make_shared<domain>(ctx);
  return {where, own(where, std::make_unique<ckks::client>(ctx, std::move(secret), options)),
          home_of_keys(where, p, options)};
}

void bind_secret_key(nb::module_& module) {
  auto type = nb::borrow<nb::class_<bound_client>>(module.attr("Client"));
  type.def_static("load", load_client, nb::arg("path"), nb::arg("params"), nb::arg("threads"),
                  nb::arg("device"), nb::arg("budget_bytes"), nb::arg("policy"), nb::arg("memory"))
      .def(
          "save_secret_key",
          [](const bound_client& self, const std::string& path) {
            locked(*self.where,
                   [&] { io::save_secret_key(path, self.value->context(), self.value->secret_key()); });
          },
          nb::arg("path"));
}

/// What a file is, without a context.
nb::dict inspect_file(const std::string& path) {
  const io::container_info info = io::inspect(io::input(std::filesystem::path(path)));
  nb::dict out;
  out["kind"] = std::string(to_string(info.kind));
  out["bytes"] = info.bytes;
  out["parameters"] = io::to_string(info.parameters);
  out["level"] = info.level;
  out["scale"] = info.scale;
  out["slots"] = info.slots;
  out["components"] = info.components;
  out["seeded"] = info.seeded;
  out["version"] = info.version;
  out["key_id"] = known(info.key);
  return out;
}

}  // namespace

void bind_io(nb::module_& module) {
  bind_parameters(module);
  bind_saving(module);
  bind_loading(module, "ciphertext", [](const io::input& from, const std::shared_ptr<domain>& where) {
    bound_ciphertext loaded{where, io::load_ciphertext(from, *where->ctx)};
    const bool real = loaded.value.real_hint;
    return std::pair(std::move(loaded), real);
  });
  bind_loading(module, "keys", [](const io::input& from, const std::shared_ptr<domain>& where) {
    return bound_keys{where, io::load_evaluation_keys(from, *where->ctx)};
  });
  bind_loading(module, "public_key", [](const io::input& from, const std::shared_ptr<domain>& where) {
    ckks::public_key key = io::load_public_key(from, *where->ctx);
    return bound_public_key{where, std::make_shared<const ckks::public_key>(std::move(key))};
  });
  bind_secret_key(module);
  module.def("inspect_file", inspect_file, nb::arg("path"));
}

}  // namespace halocline::python
