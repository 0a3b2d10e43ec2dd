// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/secret_key_file.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/io/container_reader.hpp"
#include "halocline/io/container_writer.hpp"
#include "object_parts.hpp"

namespace halocline::io {
namespace {

/// Numbers that are zeroed at the end of their scope.
template <typename ValueT>
struct wiped {
  explicit wiped(std::size_t count) : values(count) {}
  ~wiped() { sodium_memzero(values.data(), values.size() * sizeof(ValueT)); }
  wiped(const wiped&) = delete;
  wiped& operator=(const wiped&) = delete;

  std::vector<ValueT> values;
};

/// @throws corrupt_data unless the coefficients are what the parameters' distribution can give.
void check_coefficients(const container_reader& reader, const params::parameters& parameters,
                        std::span<const std::int8_t> coefficients) {
  std::size_t weight = 0;
  bool ternary = true;
  for (const std::int8_t value : coefficients) {  // no early exit: time must not depend on the key
    ternary &= value >= -1 && value <= 1;
    weight += value != 0;
  }
  HALOCLINE_EXPECTS(ternary, corrupt_data, reader.name(),
                    " is not valid: a coefficient of the secret key is not -1, 0 or 1");
  const params::secret_distribution& secret = parameters.secret();
  HALOCLINE_EXPECTS(secret.kind != params::secret_kind::sparse || weight == secret.hamming_weight,
                    corrupt_data, reader.name(), " is not valid: the secret key does not have ",
                    secret.hamming_weight, " nonzero coefficients");
}

/// Residues of the coefficients modulo all primes, NTT form.
[[nodiscard]] ring::poly transform(ckks::context& ctx, const memory::buffer& coefficients) {
  const auto& parameters = ctx.parameters();
  ring::poly value(ctx.ring(), parameters.special_window(), detail::chain_window(parameters),
                   memory::object_class::scratch, "secret_key.value", true);
  std::vector<backend::encode_job> expansions;
  std::vector<backend::unary_job> transforms;
  for (const backend::limb_view& view : value.views()) {
    expansions.push_back({view, &coefficients, 1});
    transforms.push_back({view, view});
  }
  ctx.device().encode_expand(ctx.tables(), expansions);
  ctx.device().ntt(ctx.tables(), transforms);
  return value;
}

}  // namespace

void save_secret_key(const std::filesystem::path& path, ckks::context& ctx, const ckks::secret_key& key) {
  detail::require_contents(ctx);
  const std::size_t n = ctx.parameters().n();
  HALOCLINE_EXPECTS(key.coefficients.size() == n * sizeof(std::int64_t), invalid_argument,
                    "cannot save a secret key of ", key.coefficients.size(), " bytes, expected ",
                    n * sizeof(std::int64_t), " for these parameters");
  wiped<std::int64_t> wide(n);
  wiped<std::int8_t> narrow(n);
  ctx.device().download(std::as_writable_bytes(std::span(wide.values)), key.coefficients, 0);
  std::transform(wide.values.begin(), wide.values.end(), narrow.values.begin(),
                 [](std::int64_t value) { return static_cast<std::int8_t>(value); });
  container_writer writer(path, object_kind::secret_key, ctx.parameters().fingerprint(),
                          file_privacy::secret);
  writer.set_key(key.id);
  detail::add_parameters(writer, ctx.parameters());
  writer.add_section(detail::coefficients_section, std::as_bytes(std::span(narrow.values)));
  writer.finish();
}

ckks::secret_key load_secret_key(const std::filesystem::path& path, ckks::context& ctx) {
  const container_reader reader = container_reader::open(path);
  const auto& parameters = ctx.parameters();
  detail::expect_object(reader, object_kind::secret_key, parameters);
  detail::expect_sections(reader, 2);
  const section& section = reader.at(detail::coefficients_section);
  HALOCLINE_EXPECTS(section.bytes == parameters.n(), corrupt_data, reader.name(), " is not valid: it has ",
                    section.bytes, " bytes of coefficients, expected ", parameters.n());
  wiped<std::int8_t> narrow(parameters.n());
  reader.read(section, 0, std::as_writable_bytes(std::span(narrow.values)));
  check_coefficients(reader, parameters, narrow.values);
  ctx.ring().prepare_transforms();
  wiped<std::int64_t> wide(parameters.n());
  std::copy(narrow.values.begin(), narrow.values.end(), wide.values.begin());
  ckks::secret_key key;
  key.id = reader.key();
  const auto bytes = std::as_bytes(std::span(wide.values));
  key.coefficients =
      ctx.runtime().allocate(bytes.size(), memory::object_class::scratch, "secret_key.coefficients", true);
  ctx.device().upload(key.coefficients, 0, bytes);
  key.value = transform(ctx, key.coefficients);
  return key;
}

}  // namespace halocline::io
