// SPDX-License-Identifier: Apache-2.0
#include "object_parts.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "halocline/arith/uniform_stream.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/params/insecure.hpp"
#include "halocline/params/parameters.hpp"

namespace halocline::io::detail {
namespace {

/// Bytes on the way between a container and a runtime: fits the L2 cache, and is a whole number of limbs for
/// every ring but the largest with 64-bit words, where it is one limb.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

[[nodiscard]] std::string read_json(const container_reader& reader) {
  const auto bytes = reader.read_all(reader.at(parameters_section), params::literal::max_json_bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Name of the parameters that a container was made for, for messages; empty when it cannot be read.
[[nodiscard]] std::string parameters_name(const container_reader& reader) {
  try {
    return params::literal::from_json(read_json(reader)).name;
  } catch (const error&) {
    return {};
  }
}

/// Whether all words are below `modulus` < 2^(w-1), without a branch per word: in `bad`, the top bit of
/// (modulus - 1 - x) | x is set exactly when x >= modulus.
template <typename WordT>
[[nodiscard]] bool all_below(std::span<const std::byte> words, std::uint64_t modulus) noexcept {
  const auto largest = static_cast<WordT>(modulus - 1);
  WordT bad = 0;
  for (std::size_t at = 0; at < words.size(); at += sizeof(WordT)) {
    WordT word;
    std::memcpy(&word, words.data() + at, sizeof word);
    bad |= static_cast<WordT>((largest - word) | word);
  }
  return bad >> (8 * sizeof(WordT) - 1) == 0;
}

}  // namespace

void expect_residues(const residue_rule& rule, std::span<const std::byte> bytes, std::size_t offset,
                     const container_reader& reader, const section& from) {
  while (!bytes.empty()) {
    const std::size_t limb = offset / rule.limb_bytes;
    const auto words = bytes.first(std::min(bytes.size(), (limb + 1) * rule.limb_bytes - offset));
    const std::uint64_t modulus = rule.moduli.at(limb);
    const bool valid = rule.word_bits == 32 ? all_below<std::uint32_t>(words, modulus)
                                            : all_below<std::uint64_t>(words, modulus);
    HALOCLINE_EXPECTS(valid, corrupt_data, reader.name(), " is not valid: section '", to_string(from.id),
                      "' has a residue that is not below its modulus ", modulus);
    bytes = bytes.subspan(words.size());
    offset += words.size();
  }
}

void require_contents(const ckks::context& ctx) {
  HALOCLINE_EXPECTS(
      !ctx.runtime().is_ghost(), invalid_argument,
      "cannot save an object of the ghost device: it has a shape but no contents; save one of a real "
      "device");
}

void add_parameters(container_writer& writer, const params::parameters& parameters) {
  const std::string json = parameters.to_json();
  writer.add_section(parameters_section, std::as_bytes(std::span(json)));
}

params::parameters read_parameters(const container_reader& reader, bool allow_insecure) {
  const params::literal source = params::literal::from_json(read_json(reader));
  params::parameters out =
      allow_insecure ? params::accept_insecure(source) : params::parameters::from_literal(source);
  HALOCLINE_EXPECTS(out.fingerprint() == reader.parameters(), corrupt_data, reader.name(),
                    " is not valid: its parameters have fingerprint ", to_string(out.fingerprint()),
                    ", its header says ", to_string(reader.parameters()));
  return out;
}

void expect_object(const container_reader& reader, object_kind kind, const params::parameters& parameters) {
  reader.expect_kind(kind);
  if (reader.parameters() != parameters.fingerprint()) {
    throw invalid_argument(text(reader.name(), " was made for other parameters: '", parameters_name(reader),
                                "' (fingerprint ", to_string(reader.parameters()), "), expected '",
                                parameters.name(), "' (fingerprint ", to_string(parameters.fingerprint()),
                                "); use the parameters that it was made with"));
  }
  reader.verify(reader.at(parameters_section));  // not used, but damage anywhere in a container is reported
}

void expect_sections(const container_reader& reader, std::uint64_t count) {
  HALOCLINE_EXPECTS(reader.sections().size() == count, corrupt_data, reader.name(), " is not valid: it has ",
                    reader.sections().size(), " sections, expected ", count);
}

byte_reader open_metadata(const container_reader& reader, std::uint64_t limit,
                          std::vector<std::byte>& storage) {
  storage = reader.read_all(reader.at(metadata_section), limit);
  return {storage, text(reader.name(), ": section 'META'")};
}

void put_source(byte_writer& out, const backend::uniform_source& source) {
  out.put_bytes(std::as_bytes(std::span(source.seed)));
  out.put(source.stream);
  out.put(static_cast<std::uint32_t>(source.rule));
}

backend::uniform_source get_source(byte_reader& in, const container_reader& reader) {
  backend::uniform_source source;
  const auto seed = in.get_bytes(source.seed.size());
  std::memcpy(source.seed.data(), seed.data(), seed.size());
  source.stream = in.get<std::uint32_t>();
  const auto rule = in.get<std::uint32_t>();
  const bool has_rules = reader.version() >= stream_rule_version;
  HALOCLINE_EXPECTS(has_rules ? is_stream_rule(rule) : rule == 0, corrupt_data, reader.name(),
                    " is not valid: the rule of a seed is ", rule, ", expected ", has_rules ? "0 or 1" : "0",
                    " in format version ", reader.version());
  source.rule = static_cast<stream_rule>(rule);
  return source;
}

std::span<const std::uint64_t> moduli_of(const ckks::context& ctx, arith::window primes) {
  return std::span(ctx.tables().primes).subspan(primes.first, primes.count);
}

std::vector<std::uint64_t> moduli_of(const ckks::context& ctx, const ring::poly& value) {
  std::vector<std::uint64_t> moduli;
  for (const backend::limb_view& view : value.views()) {
    const auto part = moduli_of(ctx, view.primes);
    moduli.insert(moduli.end(), part.begin(), part.end());
  }
  return moduli;
}

arith::window chain_window(const params::parameters& parameters) {
  const unsigned special = parameters.special_count();
  return {special, parameters.prime_count() - special};
}

void add_buffer(container_writer& writer, const section_id& id, ckks::context& ctx,
                const memory::buffer& source, std::size_t bytes) {
  std::vector<std::byte> piece(std::min(bytes, piece_bytes));
  writer.begin_section(id);
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    const auto part = std::span(piece).first(std::min(piece.size(), bytes - at));
    ctx.device().download(part, source, at);
    writer.append(part);
  }
  writer.end_section();
}

const section& limb_section(const container_reader& reader, const section_id& id, const ckks::context& ctx,
                            std::size_t limbs) {
  const section& found = reader.at(id);
  HALOCLINE_EXPECTS(found.bytes == limbs * ctx.tables().limb_bytes(), corrupt_data, reader.name(),
                    " is not valid: section '", to_string(id), "' has ", found.bytes, " bytes, expected ",
                    limbs, " limbs of ", ctx.tables().limb_bytes());
  return found;
}

void read_limbs(const container_reader& reader, const section& from, ckks::context& ctx,
                const memory::buffer& dst, std::span<const std::uint64_t> moduli) {
  const std::size_t limb_bytes = ctx.tables().limb_bytes();
  const residue_rule rule{ctx.tables().word_bits, limb_bytes, {moduli.begin(), moduli.end()}};
  const std::size_t limbs_per_piece = std::max<std::size_t>(1, piece_bytes / limb_bytes);
  std::vector<std::byte> piece(std::min(limbs_per_piece, moduli.size()) * limb_bytes);
  for (std::size_t limb = 0; limb < moduli.size(); limb += limbs_per_piece) {
    const std::size_t count = std::min(limbs_per_piece, moduli.size() - limb);
    const auto part = std::span(piece).first(count * limb_bytes);
    reader.read(from, limb * limb_bytes, part);
    expect_residues(rule, part, limb * limb_bytes, reader, from);
    ctx.device().upload(dst, limb * limb_bytes, part);
  }
}

void expect_expansion(ckks::context& ctx, const ring::poly& value, const backend::uniform_source& source) {
  const auto matches = [&]<typename WordT>(WordT) {
    constexpr std::size_t words = arith::words_per_block<WordT>;
    std::array<WordT, words> held{};
    ctx.device().download(std::as_writable_bytes(std::span(held)), value.data(), 0);
    const std::uint32_t prime = value.chain().primes.first;
    const auto q = arith::make_modulus(static_cast<WordT>(ctx.tables().primes[prime]));
    const arith::uniform_limb limb{arith::make_chacha_key(source.seed.data()), source.stream, prime,
                                   source.rule};
    for (std::size_t i = 0; i < words; ++i) {
      if (held[i] != arith::uniform_word<WordT>(limb, i, q)) return false;
    }
    return true;
  };
  const bool same = ctx.tables().word_bits == 32 ? matches(std::uint32_t{}) : matches(std::uint64_t{});
  HALOCLINE_EXPECTS(same, invalid_argument,
                    "cannot save by its seed a polynomial that the seed does not expand to; ",
                    "clear the seed of an object whose residues were changed");
}

void expand_seed(ckks::context& ctx, const ring::poly& value, const backend::uniform_source& source) {
  const backend::uniform_job job{value.chain(), source};
  ctx.device().sample_uniform(ctx.tables(), {&job, 1});
}

}  // namespace halocline::io::detail
