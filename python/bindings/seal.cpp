// SPDX-License-Identifier: Apache-2.0
// Objects of SEAL in files.
#include <sodium.h>

#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/io/atomic_file.hpp"
#include "halocline/io/file_map.hpp"
#include "halocline/seal_format/read.hpp"
#include "halocline/seal_format/write.hpp"
#include "pir.hpp"
#include "seal.hpp"

namespace halocline::python {
namespace {

using word_array = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<3>>;
using given_words = nb::ndarray<const std::uint64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// A secret key, zeroed when it goes.
struct bound_secret {
  chain_handle chain;
  format::plaintext value;

  bound_secret(chain_handle of, format::plaintext key) : chain(std::move(of)), value(std::move(key)) {}
  bound_secret(bound_secret&&) = default;
  bound_secret& operator=(bound_secret&&) = delete;
  ~bound_secret() { sodium_memzero(value.data.data(), value.data.size() * sizeof(std::uint64_t)); }
};

struct bound_limits {
  format::read_limits value;
};

format::write_options options_of(unsigned compression, unsigned minor) {
  return {static_cast<format::compression>(compression), minor};
}

template <typename ValueT>
nb::bytes write_object(const ValueT& object, unsigned compression, unsigned minor) {
  std::vector<std::byte> made;
  {
    const released meanwhile;
    made = format::write(object, options_of(compression, minor));
  }
  return to_bytes(made);
}

bound_chain read_chain(const nb::bytes& data, const bound_limits& limits) {
  const std::span<const std::byte> bytes = span_of(data);
  const released meanwhile;
  return {std::make_shared<const format::modulus_chain>(format::read_parameters(bytes, limits.value))};
}

bound_chain make_chain(std::uint64_t n, const std::vector<std::uint64_t>& primes) {
  format::parameters made;
  made.n = n;
  made.primes = primes;
  return {std::make_shared<const format::modulus_chain>(std::move(made))};
}

/// Reads an object with `Read` and checks that it is one of the parameter set with `check`.
template <typename BoundT, auto Read, typename CheckT>
BoundT read_checked(const bound_chain& of, const nb::bytes& data, const bound_limits& limits, CheckT check) {
  const std::span<const std::byte> bytes = span_of(data);
  const released meanwhile;
  BoundT made{of.value, Read(bytes, limits.value)};
  check(*made.chain, made.value);
  return made;
}

bound_ct read_ct(const bound_chain& of, const nb::bytes& data, const bound_limits& limits) {
  return read_checked<bound_ct, format::read_ciphertext>(
      of, data, limits, [](const auto& chain, const auto& value) { chain.check(value); });
}
bound_pt read_pt(const bound_chain& of, const nb::bytes& data, const bound_limits& limits) {
  return read_checked<bound_pt, format::read_plaintext>(
      of, data, limits, [](const auto& chain, const auto& value) { chain.check(value); });
}
bound_public read_public(const bound_chain& of, const nb::bytes& data, const bound_limits& limits) {
  return read_checked<bound_public, format::read_public_key>(
      of, data, limits, [](const auto& chain, const auto& value) { chain.check_public_key(value); });
}
template <typename BoundT>
BoundT read_keys(const bound_chain& of, const nb::bytes& data, const bound_limits& limits) {
  return read_checked<BoundT, format::read_switch_keys>(
      of, data, limits,
      [](const auto& chain, const auto& value) { chain.check(value, std::is_same_v<BoundT, bound_galois>); });
}

bound_secret load_secret(const bound_chain& of, const std::string& path, std::uint64_t most,
                         const bound_limits& limits) {
  const released meanwhile;
  const io::file_map file(path, most);
  std::vector<std::byte> bytes(file.bytes().size());
  file.read(0, bytes);
  const auto wipe = [&bytes] { sodium_memzero(bytes.data(), bytes.size()); };
  try {
    bound_secret made(of.value, format::read_secret_key(bytes, limits.value));
    of.value->check_secret_key(made.value);
    wipe();
    return made;
  } catch (...) {
    wipe();
    throw;
  }
}

void save_secret(const bound_secret& self, const std::string& path, unsigned compression, unsigned minor) {
  const released meanwhile;
  std::vector<std::byte> bytes = format::write(self.value, options_of(compression, minor));
  const auto wipe = [&bytes] { sodium_memzero(bytes.data(), bytes.size()); };
  try {
    io::atomic_file file(path, io::file_privacy::secret);
    file.append(bytes);
    file.commit();
  } catch (...) {
    wipe();
    throw;
  }
  wipe();
}

word_array words_of(std::vector<std::uint64_t> words, std::size_t size, std::size_t primes, std::size_t n) {
  auto* const kept = new std::vector<std::uint64_t>(std::move(words));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::uint64_t>*>(p); });
  return {kept->data(), {size, primes, n}, owner};
}

word_array residues_of(const format::modulus_chain& chain, const format::ciphertext& object) {
  format::ciphertext whole = object;
  {
    const released meanwhile;
    chain.expand(whole);
  }
  return words_of(std::move(whole.data), whole.size, whole.primes, whole.n);
}

std::vector<std::uint64_t> given(const bound_chain& of, const given_words& words) {
  HALOCLINE_EXPECTS(
      words.shape(1) >= 1 && words.shape(1) <= of.value->data_primes() && words.shape(2) == of.value->n(),
      invalid_argument, "SEAL object: residues of ", words.shape(1), " primes and ", words.shape(2),
      " coefficients; expected 1 to ", of.value->data_primes(), " and ", of.value->n());
  return {words.data(), words.data() + words.size()};
}

bound_ct make_ct(const bound_chain& of, const given_words& words, double scale) {
  bound_ct made{of.value, {}};
  made.value.data = given(of, words);
  made.value.size = words.shape(0);
  made.value.primes = words.shape(1);
  made.value.n = words.shape(2);
  made.value.id = of.value->id(static_cast<std::uint32_t>(words.shape(1)));
  made.value.scale = scale;
  of.value->check(made.value);
  return made;
}

bound_pt make_pt(const bound_chain& of, const given_words& words, double scale) {
  bound_pt made{of.value, {}};
  made.value.data = given(of, words);
  made.value.coefficients = made.value.data.size();
  made.value.id = of.value->id(static_cast<std::uint32_t>(words.shape(1)));
  made.value.scale = scale;
  of.value->check(made.value);
  return made;
}

/// What entries there are: powers of the secret, or Galois elements.
std::vector<std::uint64_t> entries_of(const format::switch_keys& keys, bool galois) {
  std::vector<std::uint64_t> made;
  for (std::size_t i = 0; i < keys.keys.size(); ++i) {
    if (!keys.keys[i].empty()) made.push_back(galois ? 2 * i + 1 : i + 2);
  }
  return made;
}

bool is_seeded(const format::switch_keys& keys) {
  const auto seeded = [](const auto& digits) { return !digits.empty() && digits.front().second.has_value(); };
  return std::any_of(keys.keys.begin(), keys.keys.end(), seeded);
}

void bind_parameters(nb::module_& module) {
  nb::class_<bound_limits>(module, "SealLimits")
      .def(
          "__init__",
          [](bound_limits* self, std::uint64_t bytes, std::uint64_t base, std::uint64_t factor) {
            new (self) bound_limits{{bytes, base, factor}};
          },
          nb::arg("bytes"), nb::arg("unpacked_base"), nb::arg("unpacked_factor"));
  nb::class_<bound_chain>(module, "SealParameters")
      .def_static("read", read_chain, nb::arg("data"), nb::arg("limits"))
      .def_static("make", make_chain, nb::arg("n"), nb::arg("primes"))
      .def(
          "write",
          [](const bound_chain& self, unsigned compression, unsigned minor) {
            return write_object(self.value->top(), compression, minor);
          },
          nb::arg("compression"), nb::arg("minor"))
      .def_prop_ro("n", [](const bound_chain& self) { return self.value->n(); })
      .def_prop_ro("primes", [](const bound_chain& self) { return self.value->top().primes; })
      .def_prop_ro("data_primes", [](const bound_chain& self) { return self.value->data_primes(); })
      .def(
          "parms_id",
          [](const bound_chain& self, std::uint32_t count) {
            const format::id_words& id = self.value->id(count);
            return nb::bytes(id.data(), sizeof id);
          },
          nb::arg("count"));
}

/// What all kinds of objects have.
template <typename BoundT>
nb::class_<BoundT> bind_object(nb::module_& module, const char* name,
                               BoundT (*read)(const bound_chain&, const nb::bytes&, const bound_limits&)) {
  return nb::class_<BoundT>(module, name)
      .def_static("read", read, nb::arg("parameters"), nb::arg("data"), nb::arg("limits"))
      .def(
          "write",
          [](const BoundT& self, unsigned compression, unsigned minor) {
            return write_object(self.value, compression, minor);
          },
          nb::arg("compression"), nb::arg("minor"));
}

void bind_objects(nb::module_& module) {
  bind_object<bound_ct>(module, "SealCiphertext", read_ct)
      .def_static("make", make_ct, nb::arg("parameters"), nb::arg("residues"), nb::arg("scale"))
      .def_prop_ro("size", [](const bound_ct& self) { return self.value.size; })
      .def_prop_ro("prime_count", [](const bound_ct& self) { return self.value.primes; })
      .def_prop_ro("scale", [](const bound_ct& self) { return self.value.scale; })
      .def_prop_ro("is_seeded", [](const bound_ct& self) { return self.value.second.has_value(); })
      .def("residues", [](const bound_ct& self) { return residues_of(*self.chain, self.value); });
  bind_object<bound_pt>(module, "SealPlaintext", read_pt)
      .def_static("make", make_pt, nb::arg("parameters"), nb::arg("residues"), nb::arg("scale"))
      .def_prop_ro("prime_count",
                   [](const bound_pt& self) { return self.value.coefficients / self.chain->n(); })
      .def_prop_ro("scale", [](const bound_pt& self) { return self.value.scale; })
      .def("residues", [](const bound_pt& self) {
        return words_of(self.value.data, 1, self.value.coefficients / self.chain->n(), self.chain->n());
      });
  bind_object<bound_public>(module, "SealPublicKey", read_public)
      .def_prop_ro("is_seeded", [](const bound_public& self) { return self.value.second.has_value(); })
      .def("residues", [](const bound_public& self) { return residues_of(*self.chain, self.value); });
  bind_object<bound_relin>(module, "SealRelinKeys", read_keys<bound_relin>)
      .def_prop_ro("entries", [](const bound_relin& self) { return entries_of(self.value, false); })
      .def_prop_ro("is_seeded", [](const bound_relin& self) { return is_seeded(self.value); });
  bind_object<bound_galois>(module, "SealGaloisKeys", read_keys<bound_galois>)
      .def_prop_ro("entries", [](const bound_galois& self) { return entries_of(self.value, true); })
      .def_prop_ro("is_seeded", [](const bound_galois& self) { return is_seeded(self.value); });
  nb::class_<bound_secret>(module, "SealSecretKey")
      .def_static("load", load_secret, nb::arg("parameters"), nb::arg("path"), nb::arg("most"),
                  nb::arg("limits"))
      .def("save", save_secret, nb::arg("path"), nb::arg("compression"), nb::arg("minor"));
}

}  // namespace

void bind_seal(nb::module_& module) {
  bind_parameters(module);
  bind_objects(module);
  bind_seal_engine(module);
}

}  // namespace halocline::python
