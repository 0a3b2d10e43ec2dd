// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/serialize.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"
#include "object_parts.hpp"

namespace halocline::io {
namespace {

using backend::uniform_source;
using detail::metadata_section;

/// Forms of plaintexts and ciphertexts; bits of `metadata::flags`.
constexpr std::uint32_t seeded_flag = 1;   // c_1 is stored as its seed
constexpr std::uint32_t compact_flag = 2;  // integer coefficients instead of residues
constexpr std::uint32_t special_flag = 4;  // limbs modulo the special primes come first
constexpr std::uint32_t real_flag = 8;     // ckks::ciphertext::real_hint

/// Metadata of a plaintext or ciphertext.
struct metadata {
  static constexpr std::size_t bytes = 64;

  std::uint32_t components = 1;
  std::uint32_t level = 0;
  double scale = 1.0;
  std::uint32_t slots = 0;
  std::uint32_t flags = 0;
  uniform_source source = detail::no_source;
};

[[nodiscard]] constexpr section_id component_section(std::size_t number) {
  return {section_tag("LIMB"), static_cast<std::uint32_t>(number), 0};
}

void add_metadata(container_writer& writer, const metadata& value) {
  byte_writer out;
  out.put(value.components);
  out.put(value.level);
  out.put(value.scale);
  out.put(value.slots);
  out.put(value.flags);
  detail::put_source(out, value.source);
  writer.add_section(metadata_section, out.bytes());
}

[[nodiscard]] metadata read_metadata(const container_reader& reader) {
  std::vector<std::byte> storage;
  byte_reader in = detail::open_metadata(reader, metadata::bytes, storage);
  metadata value;
  value.components = in.get<std::uint32_t>();
  value.level = in.get<std::uint32_t>();
  value.scale = in.get<double>();
  value.slots = in.get<std::uint32_t>();
  value.flags = in.get<std::uint32_t>();
  value.source = detail::get_source(in, reader);
  in.expect_end();
  return value;
}

/// What the metadata of a plaintext or ciphertext must satisfy.
void check_metadata(const container_reader& reader, const metadata& value, std::uint32_t flags,
                    const params::parameters& parameters) {
  const auto expect = [&reader](bool valid, const char* what, auto got, const std::string& expected) {
    HALOCLINE_EXPECTS(valid, corrupt_data, reader.name(), " is not valid: ", what, " is ", got, ", expected ",
                      expected);
  };
  const bool is_ciphertext = reader.kind() == object_kind::ciphertext;
  expect(is_ciphertext ? value.components == 2 || value.components == 3 : value.components == 1,
         "the number of components", value.components, is_ciphertext ? "2 or 3" : "1");
  expect((value.flags & ~flags) == 0, "the form", value.flags, text("bits of ", flags));
  expect(value.level <= parameters.top_level(), "the level", value.level,
         text("0 to ", parameters.top_level()));
  expect(std::isfinite(value.scale) && value.scale > 0, "the scale", value.scale, "a positive finite number");
  expect(std::has_single_bit(value.slots) && value.slots <= parameters.slots(), "the number of slots",
         value.slots, text("a power of two up to ", parameters.slots()));
  const bool seeded = (value.flags & seeded_flag) != 0;
  expect(!seeded || value.components == 2, "the number of components", value.components,
         "2 where c_1 is a seed");
  expect(seeded || value.source == detail::no_source, "the seed", "set", "zero where c_1 is not seeded");
}

/// Bytes of the integers of a compact plaintext.
[[nodiscard]] std::size_t coefficient_bytes(std::uint32_t slots) {
  return 2 * std::size_t{slots} * sizeof(std::int64_t);
}

void add_poly(container_writer& writer, const section_id& id, ckks::context& ctx, const ring::poly& value) {
  detail::add_buffer(writer, id, ctx, value.data(), value.limb_count() * ctx.tables().limb_bytes());
}

/// Reads all limbs of a polynomial; allocates once the section is known to have them.
[[nodiscard]] ring::poly read_poly(const container_reader& reader, const section_id& id, ckks::context& ctx,
                                   arith::window special, arith::window chain, memory::object_class cls,
                                   const char* tag) {
  const section& from = detail::limb_section(reader, id, ctx, special.count + chain.count);
  ring::poly value(ctx.ring(), special, chain, cls, tag);
  detail::read_limbs(reader, from, ctx, value.data(), detail::moduli_of(ctx, value));
  return value;
}

}  // namespace

container_writer output::open(object_kind kind, const params::parameters& parameters) const {
  if (const auto* const path = std::get_if<std::filesystem::path>(&target_)) {
    return {*path, kind, parameters.fingerprint()};
  }
  return {*std::get<std::vector<std::byte>*>(target_), kind, parameters.fingerprint()};
}

container_reader input::open() const {
  if (const auto* const path = std::get_if<std::filesystem::path>(&source_)) {
    return container_reader::open(*path);
  }
  if (const auto* const source = std::get_if<std::shared_ptr<const byte_source>>(&source_)) {
    return container_reader::from(*source);
  }
  return container_reader::over(std::get<std::span<const std::byte>>(source_));
}

void save(const output& to, const params::parameters& parameters) {
  container_writer writer = to.open(object_kind::parameters, parameters);
  detail::add_parameters(writer, parameters);
  writer.finish();
}

params::parameters load_parameters(const input& from, bool allow_insecure) {
  const container_reader reader = from.open();
  if (reader.kind() == object_kind::parameters) detail::expect_sections(reader, 1);
  return detail::read_parameters(reader, allow_insecure);
}

void save(const output& to, ckks::context& ctx, const ckks::plaintext& value) {
  detail::require_contents(ctx);
  const auto& parameters = ctx.parameters();
  HALOCLINE_EXPECTS(value.value && value.value.chain().primes == parameters.level(value.level).q,
                    invalid_argument, "cannot save a plaintext whose primes are not those of its level ",
                    value.level);
  container_writer writer = to.open(object_kind::plaintext, parameters);
  detail::add_parameters(writer, parameters);
  const std::uint32_t flags = value.value.special().primes.count != 0 ? special_flag : 0;
  add_metadata(writer, {1, value.level, value.scale, value.slots, flags, detail::no_source});
  add_poly(writer, component_section(0), ctx, value.value);
  writer.finish();
}

ckks::plaintext load_plaintext(const input& from, ckks::context& ctx) {
  const container_reader reader = from.open();
  const auto& parameters = ctx.parameters();
  detail::expect_object(reader, object_kind::plaintext, parameters);
  const metadata meta = read_metadata(reader);
  HALOCLINE_EXPECTS((meta.flags & compact_flag) == 0, invalid_argument, reader.name(),
                    " holds a compact plaintext, expected one of residues; load it as compact");
  check_metadata(reader, meta, special_flag, parameters);
  detail::expect_sections(reader, 3);
  const auto special = (meta.flags & special_flag) != 0 ? parameters.special_window() : arith::window{};
  ckks::plaintext out;
  out.value = read_poly(reader, component_section(0), ctx, special, parameters.level(meta.level).q,
                        memory::object_class::plaintext, "plaintext");
  out.level = meta.level;
  out.scale = meta.scale;
  out.slots = meta.slots;
  return out;
}

void save(const output& to, ckks::context& ctx, const ckks::compact_plaintext& value) {
  detail::require_contents(ctx);
  const std::size_t bytes = coefficient_bytes(value.slots);
  HALOCLINE_EXPECTS(value.bytes() == bytes, invalid_argument, "cannot save a compact plaintext of ",
                    value.bytes(), " bytes, expected ", bytes);
  container_writer writer = to.open(object_kind::plaintext, ctx.parameters());
  detail::add_parameters(writer, ctx.parameters());
  add_metadata(writer, {1, 0, value.scale, value.slots, compact_flag, detail::no_source});
  detail::add_buffer(writer, detail::coefficients_section, ctx, value.coefficients, bytes);
  writer.finish();
}

ckks::compact_plaintext load_compact_plaintext(const input& from, ckks::context& ctx) {
  const container_reader reader = from.open();
  const auto& parameters = ctx.parameters();
  detail::expect_object(reader, object_kind::plaintext, parameters);
  const metadata meta = read_metadata(reader);
  HALOCLINE_EXPECTS((meta.flags & compact_flag) != 0, invalid_argument, reader.name(),
                    " holds a plaintext of residues, expected a compact one");
  check_metadata(reader, meta, compact_flag, parameters);
  detail::expect_sections(reader, 3);
  const section& section = reader.at(detail::coefficients_section);
  const std::size_t bytes = coefficient_bytes(meta.slots);
  HALOCLINE_EXPECTS(section.bytes == bytes, corrupt_data, reader.name(), " is not valid: it has ",
                    section.bytes, " bytes of coefficients, expected ", bytes);
  ckks::compact_plaintext out;
  out.coefficients = ctx.runtime().allocate(bytes, memory::object_class::plaintext, "plaintext.compact");
  ctx.device().upload(out.coefficients, 0, reader.read_all(section, bytes));
  out.scale = meta.scale;
  out.slots = meta.slots;
  return out;
}

void save(const output& to, ckks::context& ctx, const ckks::ciphertext& value) {
  detail::require_contents(ctx);
  ckks::check(ctx, value, "save");
  const auto components = static_cast<std::uint32_t>(value.parts.size());
  const bool seeded = value.seed.has_value() && components == 2;
  if (seeded) detail::expect_expansion(ctx, value.parts[1], *value.seed);
  container_writer writer = to.open(object_kind::ciphertext, ctx.parameters());
  writer.set_key(value.key);
  detail::add_parameters(writer, ctx.parameters());
  const std::uint32_t flags = (seeded ? seeded_flag : 0) | (value.real_hint ? real_flag : 0);
  add_metadata(writer, {components, value.level, value.scale, value.slots, flags,
                        seeded ? *value.seed : detail::no_source});
  for (std::size_t i = 0; i < (seeded ? 1 : components); ++i) {
    add_poly(writer, component_section(i), ctx, value.parts[i]);
  }
  writer.finish();
}

ckks::ciphertext load_ciphertext(const input& from, ckks::context& ctx) {
  const container_reader reader = from.open();
  const auto& parameters = ctx.parameters();
  detail::expect_object(reader, object_kind::ciphertext, parameters);
  const metadata meta = read_metadata(reader);
  check_metadata(reader, meta, seeded_flag | real_flag, parameters);
  const bool seeded = (meta.flags & seeded_flag) != 0;
  const std::uint32_t stored = seeded ? 1 : meta.components;
  detail::expect_sections(reader, 2 + stored);
  const arith::window primes = parameters.level(meta.level).q;
  constexpr auto cls = memory::object_class::ciphertext;
  ckks::ciphertext out;
  for (std::uint32_t i = 0; i < stored; ++i) {
    out.parts.push_back(read_poly(reader, component_section(i), ctx, {}, primes, cls, "ciphertext"));
  }
  if (seeded) {
    out.parts.push_back(ring::make_poly(ctx.ring(), primes, cls, "ciphertext"));
    detail::expand_seed(ctx, out.parts[1], meta.source);
    out.seed = meta.source;
  }
  out.level = meta.level;
  out.scale = meta.scale;
  out.slots = meta.slots;
  out.real_hint = (meta.flags & real_flag) != 0;
  out.key = reader.key();
  return out;
}

void save(const output& to, ckks::context& ctx, const ckks::public_key& value) {
  detail::require_contents(ctx);
  HALOCLINE_EXPECTS(value.b && value.a && value.b.limb_count() == value.a.limb_count() &&
                        value.b.chain().primes == detail::chain_window(ctx.parameters()),
                    invalid_argument, "cannot save a public key of ", value.b.limb_count(), " and ",
                    value.a.limb_count(), " limbs, expected ", detail::chain_window(ctx.parameters()).count);
  detail::expect_expansion(ctx, value.a, value.seed);
  container_writer writer = to.open(object_kind::public_key, ctx.parameters());
  writer.set_key(value.id);
  detail::add_parameters(writer, ctx.parameters());
  byte_writer meta;
  detail::put_source(meta, value.seed);
  writer.add_section(metadata_section, meta.bytes());
  add_poly(writer, component_section(0), ctx, value.b);
  writer.finish();
}

ckks::public_key load_public_key(const input& from, ckks::context& ctx) {
  const container_reader reader = from.open();
  const auto& parameters = ctx.parameters();
  detail::expect_object(reader, object_kind::public_key, parameters);
  detail::expect_sections(reader, 3);
  std::vector<std::byte> storage;
  byte_reader in = detail::open_metadata(reader, metadata::bytes, storage);
  ckks::public_key out;
  out.id = reader.key();
  out.seed = detail::get_source(in, reader);
  in.expect_end();
  const arith::window primes = detail::chain_window(parameters);
  constexpr auto cls = memory::object_class::evaluation_key;
  out.b = read_poly(reader, component_section(0), ctx, {}, primes, cls, "public_key.b");
  out.a = ring::make_poly(ctx.ring(), primes, cls, "public_key.a");
  detail::expand_seed(ctx, out.a, out.seed);
  return out;
}

container_info inspect(const input& from) {
  const container_reader reader = from.open();
  container_info info{reader.kind(), reader.parameters(), reader.bytes()};
  info.version = reader.version();
  info.key = reader.key();
  if (info.kind == object_kind::ciphertext || info.kind == object_kind::plaintext) {
    const metadata meta = read_metadata(reader);
    info.components = meta.components;
    info.level = meta.level;
    info.scale = meta.scale;
    info.slots = meta.slots;
    info.seeded = (meta.flags & seeded_flag) != 0;
  }
  return info;
}

}  // namespace halocline::io
