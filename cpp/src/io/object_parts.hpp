// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/io/byte_codec.hpp"
#include "halocline/io/container_reader.hpp"
#include "halocline/io/container_writer.hpp"
#include "halocline/ring/poly.hpp"

/// What the loaders and savers of all objects share.
namespace halocline::io::detail {

/// Sections of an object. Every container has `parameters_section`; which others it has depends on its kind.
inline constexpr section_id parameters_section{section_tag("PARM"), 0, 0};  ///< JSON of the parameters
inline constexpr section_id metadata_section{section_tag("META"), 0, 0};    ///< numbers, seeds
inline constexpr section_id coefficients_section{section_tag("COEF"), 0, 0};

/// Throws invalid_argument in a ghost context: its objects have shapes, but no contents to save.
void require_contents(const ckks::context& ctx);

void add_parameters(container_writer& writer, const params::parameters& parameters);
/// The parameters of a container of any kind.
/// @param allow_insecure accepts what is below 128 bits, even when its literal does not ask for that
/// @throws corrupt_data unless they match the fingerprint in the header; what `parameters::from_json` throws.
[[nodiscard]] params::parameters read_parameters(const container_reader& reader, bool allow_insecure);

/// Checks kind and parameters of a container that was just opened.
void expect_object(const container_reader& reader, object_kind kind, const params::parameters& parameters);
/// @throws corrupt_data unless the container has exactly that many sections.
void expect_sections(const container_reader& reader, std::uint64_t count);

/// A reader of the bytes of the metadata section, which are appended to `storage`.
[[nodiscard]] byte_reader open_metadata(const container_reader& reader, std::uint64_t limit,
                                        std::vector<std::byte>& storage);

/// What is stored where there is no seed: zeros.
inline constexpr backend::uniform_source no_source{{}, 0, stream_rule::chacha20_retry};

void put_source(byte_writer& out, const backend::uniform_source& source);
/// @throws corrupt_data when its rule is not one of the container's version.
[[nodiscard]] backend::uniform_source get_source(byte_reader& in, const container_reader& reader);

/// Moduli of the limbs of a polynomial, in the order of its buffer.
[[nodiscard]] std::vector<std::uint64_t> moduli_of(const ckks::context& ctx, const ring::poly& value);
/// Moduli of a window of primes.
[[nodiscard]] std::span<const std::uint64_t> moduli_of(const ckks::context& ctx, arith::window primes);

/// All chain primes: the window of a public key.
[[nodiscard]] arith::window chain_window(const params::parameters& parameters);

/// Adds a section with the first `bytes` bytes of a buffer, a piece at a time.
void add_buffer(container_writer& writer, const section_id& id, ckks::context& ctx,
                const memory::buffer& source, std::size_t bytes);

/// The section of that name, which must have exactly `limbs` limbs. Call before allocating for them.
[[nodiscard]] const section& limb_section(const container_reader& reader, const section_id& id,
                                          const ckks::context& ctx, std::size_t limbs);

/// Fills the start of a buffer with the first limbs of a section, one for each modulus, a piece at a time.
/// @throws corrupt_data when a checksum differs or a residue is not below its modulus.
void read_limbs(const container_reader& reader, const section& from, ckks::context& ctx,
                const memory::buffer& dst, std::span<const std::uint64_t> moduli);

/// Which words are residues of what: limb i, of `limb_bytes` bytes, is modulo moduli[i].
struct residue_rule {
  unsigned word_bits = 0;
  std::size_t limb_bytes = 0;
  std::vector<std::uint64_t> moduli;
};

/// Throws corrupt_data unless all words of `bytes`, which begin `offset` bytes into a section, are below
/// their modulus. `offset` and the size are whole words.
void expect_residues(const residue_rule& rule, std::span<const std::byte> bytes, std::size_t offset,
                     const container_reader& reader, const section& from);

/// Throws invalid_argument when the first residues of `value` (chain limbs only) are not those of `source`:
/// the seed belongs to something else, and saving it in place of the residues would lose them.
void expect_expansion(ckks::context& ctx, const ring::poly& value, const backend::uniform_source& source);

/// Replaces all (chain) limbs of `value` by the expansion of `source`.
void expand_seed(ckks::context& ctx, const ring::poly& value, const backend::uniform_source& source);

}  // namespace halocline::io::detail
