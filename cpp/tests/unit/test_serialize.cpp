// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/serialize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/io/checksum.hpp"
#include "halocline/io/key_file.hpp"
#include "halocline/io/secret_key_file.hpp"
#include "support/container_samples.hpp"
#include "support/object_samples.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using test::byte_vector;
using test::contents;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Every test runs for both word sizes.
class Serialize : public ::testing::TestWithParam<unsigned> {
 protected:
  Serialize() : ctx_(test::tiny_context(GetParam())) {}

  [[nodiscard]] ckks::context& context() const { return *ctx_; }

  void expect_equal(const ring::poly& a, const ring::poly& b) const {
    EXPECT_EQ(a.special().primes, b.special().primes);
    EXPECT_EQ(a.chain().primes, b.chain().primes);
    EXPECT_TRUE(contents(context(), a.data()) == contents(context(), b.data()));
  }

 private:
  std::shared_ptr<ckks::context> ctx_;
};

/// A container of the same kind with one section replaced.
[[nodiscard]] byte_vector replace_section(const byte_vector& bytes, const section_id& id,
                                          const byte_vector& content) {
  const auto reader = container_reader::over(bytes);
  byte_vector out;
  container_writer writer(out, reader.kind(), reader.parameters());
  writer.set_key(reader.key());
  for (const section& each : reader.sections()) {
    writer.add_section(each.id, each.id == id ? std::span<const std::byte>(content) : reader.view(each));
  }
  writer.finish();
  return out;
}

/// The content of a section with some bytes overwritten.
template <typename ValueT>
[[nodiscard]] byte_vector patch(const byte_vector& bytes, const section_id& id, std::size_t at,
                                ValueT value) {
  const auto reader = container_reader::over(bytes);
  byte_vector content = reader.read_all(reader.at(id), bytes.size());
  std::memcpy(content.data() + at, &value, sizeof value);
  return replace_section(bytes, id, content);
}

constexpr section_id meta{section_tag("META"), 0, 0};
constexpr section_id limbs{section_tag("LIMB"), 0, 0};

TEST_P(Serialize, ParametersComeBack) {
  const byte_vector bytes = to_bytes(context().parameters());
  const params::parameters copy = load_parameters(bytes);
  EXPECT_EQ(copy, context().parameters());
  EXPECT_EQ(copy.source(), context().parameters().source());
  EXPECT_EQ(inspect(bytes).kind, object_kind::parameters);
}

TEST_P(Serialize, EveryContainerCarriesItsParameters) {
  const byte_vector bytes = to_bytes(context(), test::sample_ciphertext(context(), 1, 2, true));
  EXPECT_EQ(load_parameters(bytes), context().parameters());
}

TEST_P(Serialize, PlaintextsComeBack) {
  for (const bool special : {false, true}) {
    const ckks::plaintext original = test::sample_plaintext(context(), 1, special);
    const ckks::plaintext copy = load_plaintext(to_bytes(context(), original), context());
    EXPECT_EQ(copy.level, original.level);
    EXPECT_EQ(copy.scale, original.scale);
    EXPECT_EQ(copy.slots, original.slots);
    expect_equal(copy.value, original.value);
  }
}

TEST_P(Serialize, CompactPlaintextsComeBack) {
  const ckks::compact_plaintext original = test::sample_compact_plaintext(context());
  const byte_vector bytes = to_bytes(context(), original);
  const ckks::compact_plaintext copy = load_compact_plaintext(bytes, context());
  EXPECT_EQ(copy.scale, original.scale);
  EXPECT_EQ(copy.slots, original.slots);
  EXPECT_EQ(contents(context(), copy.coefficients), contents(context(), original.coefficients));
  EXPECT_THAT([&] { (void)load_plaintext(bytes, context()); },
              ThrowsMessage<invalid_argument>(HasSubstr("compact")));
  const byte_vector residues = to_bytes(context(), test::sample_plaintext(context(), 0));
  EXPECT_THAT([&] { (void)load_compact_plaintext(residues, context()); },
              ThrowsMessage<invalid_argument>(HasSubstr("compact")));
}

TEST_P(Serialize, CiphertextsComeBackAtEveryLevelAndSize) {
  for (const unsigned level : {0U, 1U, 2U}) {
    for (const std::uint32_t parts : {2U, 3U}) {
      const ckks::ciphertext original = test::sample_ciphertext(context(), level, parts, false);
      const ckks::ciphertext copy = load_ciphertext(to_bytes(context(), original), context());
      EXPECT_EQ(copy.level, level);
      EXPECT_EQ(copy.scale, original.scale);
      EXPECT_EQ(copy.slots, original.slots);
      EXPECT_FALSE(copy.seed.has_value());
      ASSERT_EQ(copy.parts.size(), parts);
      for (std::uint32_t i = 0; i < parts; ++i) expect_equal(copy.parts[i], original.parts[i]);
    }
  }
}

TEST_P(Serialize, TheRealHintTravels) {
  ckks::ciphertext original = test::sample_ciphertext(context(), 0, 2, false);
  EXPECT_FALSE(load_ciphertext(to_bytes(context(), original), context()).real_hint);
  original.real_hint = true;
  EXPECT_TRUE(load_ciphertext(to_bytes(context(), original), context()).real_hint);
}

TEST_P(Serialize, KeyIdentifiersTravel) {
  const ckks::key_id id = test::sample_key_id();
  const byte_vector ciphertext = to_bytes(context(), test::sample_ciphertext(context(), 1, 2, true));
  EXPECT_EQ(load_ciphertext(ciphertext, context()).key, id);
  EXPECT_EQ(inspect(ciphertext).key, id);
  EXPECT_EQ(inspect(ciphertext).version, container_version);
  EXPECT_EQ(load_public_key(to_bytes(context(), test::sample_public_key(context())), context()).id, id);
  const byte_vector bundle = to_bytes(context(), test::sample_keys(context()));
  const ckks::memory_key_set keys = load_evaluation_keys(bundle, context());
  EXPECT_EQ(keys.id(), id);
  for (const auto& [element, key] : keys.keys()) EXPECT_EQ(key.id, id) << element;
  EXPECT_FALSE(inspect(to_bytes(context(), test::sample_plaintext(context(), 0))).key.is_known());
  ckks::ciphertext nobodys = test::sample_ciphertext(context(), 1, 2, false);
  nobodys.key = {};
  EXPECT_FALSE(load_ciphertext(to_bytes(context(), nobodys), context()).key.is_known());
}

TEST_P(Serialize, SeededCiphertextsTakeHalfTheBytesAndComeBack) {
  const ckks::ciphertext full = test::sample_ciphertext(context(), 1, 2, false);
  const ckks::ciphertext seeded = test::sample_ciphertext(context(), 1, 2, true);
  const byte_vector small = to_bytes(context(), seeded);
  EXPECT_EQ(to_bytes(context(), full).size() - small.size(),
            full.bytes() / 2 + section_entry_bytes + sizeof(std::uint64_t));
  const ckks::ciphertext copy = load_ciphertext(small, context());
  expect_equal(copy.parts[0], seeded.parts[0]);
  expect_equal(copy.parts[1], seeded.parts[1]);
  ASSERT_TRUE(copy.seed.has_value());
  EXPECT_EQ(to_bytes(context(), copy), small);
}

TEST_P(Serialize, ASeedThatBelongsToSomethingElseIsRefused) {
  ckks::ciphertext stale = test::sample_ciphertext(context(), 1, 2, true);
  stale.seed->stream += 1;
  EXPECT_THAT([&] { (void)to_bytes(context(), stale); },
              ThrowsMessage<invalid_argument>(HasSubstr("clear the seed")));
}

TEST_P(Serialize, PublicKeysComeBack) {
  const ckks::public_key original = test::sample_public_key(context());
  const ckks::public_key copy = load_public_key(to_bytes(context(), original), context());
  expect_equal(copy.b, original.b);
  expect_equal(copy.a, original.a);
}

TEST_P(Serialize, InspectReadsMetadataOnly) {
  const ckks::ciphertext original = test::sample_ciphertext(context(), 1, 2, true);
  const byte_vector bytes = to_bytes(context(), original);
  const container_info info = inspect(bytes);
  EXPECT_EQ(info.kind, object_kind::ciphertext);
  EXPECT_EQ(info.parameters, context().parameters().fingerprint());
  EXPECT_EQ(info.bytes, bytes.size());
  EXPECT_EQ(info.components, 2U);
  EXPECT_EQ(info.level, 1U);
  EXPECT_EQ(info.scale, original.scale);
  EXPECT_EQ(info.slots, original.slots);
  EXPECT_TRUE(info.seeded);
}

TEST_P(Serialize, OtherParametersAreNamed) {
  auto source = context().parameters().source();
  source.name = "other";
  source.error_stddev = 3.5;
  const auto other = params::parameters::from_literal(source);
  const auto other_ctx = ckks::make_context(other, backend::make_backend("cpu"));
  const byte_vector bytes = to_bytes(context(), test::sample_ciphertext(context(), 0, 2, false));
  EXPECT_THAT([&] { (void)load_ciphertext(bytes, *other_ctx); },
              ThrowsMessage<invalid_argument>(
                  AllOf(HasSubstr("made for other parameters: 'tiny-"), HasSubstr("expected 'other'"))));
}

TEST_P(Serialize, OtherKindsAreNamed) {
  const byte_vector bytes = to_bytes(context(), test::sample_public_key(context()));
  EXPECT_THAT([&] { (void)load_ciphertext(bytes, context()); },
              ThrowsMessage<invalid_argument>(HasSubstr("kind 'public key', expected 'ciphertext'")));
  EXPECT_THAT([&] { (void)load_evaluation_keys(bytes, context()); },
              ThrowsMessage<invalid_argument>(HasSubstr("kind 'public key', expected 'evaluation keys'")));
}

TEST_P(Serialize, ForgedMetadataIsRefused) {
  const byte_vector bytes = to_bytes(context(), test::sample_ciphertext(context(), 1, 2, false));
  const auto expect_refused = [&](std::size_t at, auto value, const std::string& fragment) {
    const byte_vector forged = patch(bytes, meta, at, value);
    EXPECT_THAT([&] { (void)load_ciphertext(forged, context()); },
                ThrowsMessage<corrupt_data>(HasSubstr(fragment)));
  };
  expect_refused(0, std::uint32_t{1}, "number of components is 1, expected 2 or 3");
  expect_refused(0, std::uint32_t{3}, "4 sections, expected 5");
  expect_refused(4, std::uint32_t{3}, "level is 3, expected 0 to 2");
  expect_refused(4, std::uint32_t{0}, "section 'LIMB' has");
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    expect_refused(8, scale, "a positive finite number");
  }
  expect_refused(16, std::uint32_t{0}, "number of slots is 0");
  expect_refused(16, std::uint32_t{48}, "number of slots is 48");
  expect_refused(16, std::uint32_t{1024}, "number of slots is 1024");
  expect_refused(20, std::uint32_t{1}, "sections, expected 3");
  expect_refused(20, std::uint32_t{2}, "form is 2");
  expect_refused(24, std::uint8_t{1}, "seed is set");
  expect_refused(60, std::uint32_t{1}, "seed is set");
  expect_refused(60, std::uint32_t{2}, "rule of a seed is 2, expected 0 or 1");
}

TEST_P(Serialize, ResiduesMustBeBelowTheirModulus) {
  const byte_vector bytes = to_bytes(context(), test::sample_ciphertext(context(), 1, 2, false));
  const auto& parameters = context().parameters();
  const arith::window primes = parameters.level(1).q;
  for (std::uint32_t i = 0; i < primes.count; ++i) {
    const std::uint64_t q = parameters.primes()[primes.first + i];
    const std::size_t at = i * parameters.limb_bytes() + 17 * parameters.word_bytes();
    const auto with = [&](std::uint64_t residue) {
      return GetParam() == 32 ? patch(bytes, limbs, at, static_cast<std::uint32_t>(residue))
                              : patch(bytes, limbs, at, residue);
    };
    EXPECT_NO_THROW((void)load_ciphertext(with(q - 1), context()));
    for (const std::uint64_t residue : {q, q + 1, ~std::uint64_t{0}, std::uint64_t{1} << (GetParam() - 1)}) {
      EXPECT_THAT([&] { (void)load_ciphertext(with(residue), context()); },
                  ThrowsMessage<corrupt_data>(HasSubstr("not below its modulus " + std::to_string(q))));
    }
  }
}

TEST_P(Serialize, MissingExtraAndShortSectionsAreRefused) {
  const byte_vector bytes = to_bytes(context(), test::sample_ciphertext(context(), 1, 2, false));
  const auto reader = container_reader::over(bytes);
  const byte_vector limb_data = reader.read_all(reader.at(limbs), bytes.size());
  const byte_vector shorter(limb_data.begin(), limb_data.end() - 1);
  EXPECT_THAT([&] { (void)load_ciphertext(replace_section(bytes, limbs, shorter), context()); },
              ThrowsMessage<corrupt_data>(HasSubstr("section 'LIMB' has")));
  const byte_vector long_meta(65);
  EXPECT_THAT([&] { (void)load_ciphertext(replace_section(bytes, meta, long_meta), context()); },
              ThrowsMessage<corrupt_data>(HasSubstr("expected at most 64")));
  byte_vector fewer;
  container_writer writer(fewer, reader.kind(), reader.parameters());
  writer.add_section(meta, reader.view(reader.at(meta)));
  writer.finish();
  EXPECT_THAT([&] { (void)load_ciphertext(fewer, context()); },
              ThrowsMessage<corrupt_data>(HasSubstr("section 'PARM' is missing")));
}

TEST_P(Serialize, DamagedParametersAreRefused) {
  const byte_vector bytes = to_bytes(context().parameters());
  const section_id parm{section_tag("PARM"), 0, 0};
  auto source = context().parameters().source();
  source.error_stddev = 3.5;
  const std::string json = source.to_json();
  const auto* const first = reinterpret_cast<const std::byte*>(json.data());
  const byte_vector forged = replace_section(bytes, parm, {first, first + json.size()});
  EXPECT_THAT([&] { (void)load_parameters(forged); },
              ThrowsMessage<corrupt_data>(HasSubstr("its header says")));
  EXPECT_THROW((void)load_parameters(replace_section(bytes, parm, byte_vector(10))), corrupt_data);
}

// Files of sets that were secure by an older table: their literal does not ask for insecurity.
TEST_P(Serialize, InsecureParametersNeedPermission) {
  const byte_vector bytes = to_bytes(context().parameters());
  auto source = context().parameters().source();
  ASSERT_TRUE(source.allow_insecure);
  source.allow_insecure = false;
  const std::string json = source.to_json();
  const auto* const first = reinterpret_cast<const std::byte*>(json.data());
  const section_id parm{section_tag("PARM"), 0, 0};
  const byte_vector old = replace_section(bytes, parm, {first, first + json.size()});
  EXPECT_THROW((void)load_parameters(old), insecure_parameters);
  EXPECT_EQ(load_parameters(old, true), context().parameters());
  EXPECT_TRUE(load_parameters(old, true).source().allow_insecure);
}

TEST_P(Serialize, GhostObjectsHaveNoContents) {
  const auto ghost = ckks::make_context(context().parameters(), backend::make_backend("ghost"));
  const ckks::ciphertext shape = test::sample_ciphertext(*ghost, 0, 2, false);
  EXPECT_THAT([&] { (void)to_bytes(*ghost, shape); }, ThrowsMessage<invalid_argument>(HasSubstr("ghost")));
  const byte_vector bytes = to_bytes(context(), test::sample_ciphertext(context(), 0, 2, false));
  EXPECT_EQ(load_ciphertext(bytes, *ghost).level, 0U);
}

TEST_P(Serialize, FilesAreReplacedAsAWhole) {
  const test::temporary_folder folder;
  const auto path = folder / "ct.hlc";
  save(path, context(), test::sample_ciphertext(context(), 1, 2, false));
  const ckks::ciphertext other = test::sample_ciphertext(context(), 0, 3, false);
  save(path, context(), other);
  EXPECT_EQ(to_bytes(context(), load_ciphertext(path, context())), to_bytes(context(), other));
  const std::string before = test::read_file(path);
  ckks::ciphertext broken = test::sample_ciphertext(context(), 1, 2, true);
  broken.seed->stream = 9;
  EXPECT_THROW(save(path, context(), broken), invalid_argument);
  EXPECT_EQ(test::read_file(path), before);
  EXPECT_EQ(folder.entries(), 1U);
}

[[nodiscard]] std::filesystem::path committed(const std::string& name) {
  return std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "corpus" / "serialize" / name;
}

TEST_P(Serialize, SeedsKeepTheirRule) {
  for (const stream_rule rule : {stream_rule::chacha20_retry, stream_rule::chacha8_spare}) {
    ckks::ciphertext value = test::sample_ciphertext(context(), 1, 2, true);
    value.seed->rule = rule;
    const backend::uniform_job job{value.parts[1].chain(), *value.seed};
    context().device().sample_uniform(context().tables(), {&job, 1});
    const ckks::ciphertext loaded = load_ciphertext(to_bytes(context(), value), context());
    EXPECT_EQ(loaded.seed->rule, rule);
    expect_equal(loaded.parts[1], value.parts[1]);
    // The same seed under the other rule is another polynomial.
    value.seed->rule =
        rule == stream_rule::chacha8_spare ? stream_rule::chacha20_retry : stream_rule::chacha8_spare;
    EXPECT_THROW((void)to_bytes(context(), value), invalid_argument);
  }
}

TEST_P(Serialize, SeedsOfVersion1HaveNoRules) {
  ckks::ciphertext value = test::sample_ciphertext(context(), 1, 2, true);
  value.key = {};  // which version 1 does not name
  byte_vector bytes = to_bytes(context(), value);
  test::forge_version(bytes, 1);
  EXPECT_EQ(container_reader::over(bytes).version(), 1U);
  EXPECT_THAT([&] { (void)load_ciphertext(bytes, context()); },
              ThrowsMessage<corrupt_data>(HasSubstr("rule of a seed is 1, expected 0 in format version 1")));
}

/// Hexadecimal digits of a digest of residues.
[[nodiscard]] std::string digest_of(const byte_vector& bytes) {
  std::string out;
  for (const auto byte : blake2b_128(bytes)) {
    constexpr const char* digits = "0123456789abcdef";
    const auto value = static_cast<unsigned>(byte);
    out += digits[value / 16];
    out += digits[value % 16];
  }
  return out;
}

// Files of format version 1 are kept beside the inputs of fuzz_serialize. Digests are of the residues that
// the library expanded them to when it wrote them.
TEST(SerializeCorpus, SeedsOfVersion1ExpandToWhatTheyDid) {
  const auto shared = test::tiny_context();
  ckks::context& tiny = *shared;
  EXPECT_EQ(container_reader::open(committed("public_key")).version(), 1U);
  const ckks::public_key key = load_public_key(committed("public_key"), tiny);
  EXPECT_EQ(key.seed.rule, stream_rule::chacha20_retry);
  EXPECT_EQ(digest_of(contents(tiny, key.a.data())), "17d40d2b907e59f40d64274bc985873f");
  const ckks::ciphertext ct = load_ciphertext(committed("ciphertext_seeded"), tiny);
  EXPECT_EQ(digest_of(contents(tiny, ct.parts[1].data())), "cdd57dd3ee241f3a405ee56aa9d4f9e7");
  const key_bundle_reader keys(committed("evaluation_keys"), tiny);
  ckks::evaluation_key rotation = keys.load(tiny.parameters().galois_element(1), 0);
  ckks::expand(tiny, rotation);
  std::string digests;
  for (const auto& digit : rotation.digits) {
    EXPECT_EQ(digit.source.rule, stream_rule::chacha20_retry);
    digests += digest_of(contents(tiny, digit.a)) + " ";
  }
  EXPECT_EQ(digests, "50efbf25bbb1ccf2f52fa9d912e6c8d8 6114a9c834055ff1a69adef8711c5520 ");
  // Written again, in the version of today, they are the same.
  EXPECT_TRUE(contents(tiny, load_public_key(to_bytes(tiny, key), tiny).a.data()) ==
              contents(tiny, key.a.data()));
}

// Files of version 1 were written by an earlier library. Their residues, also those that come from seeds, are
// what they were.
TEST(SerializeCorpus, FilesOfVersionOneLoadAsTheyWere) {
  const auto shared = test::tiny_context();
  ckks::context& tiny = *shared;
  const auto sum = [&](const memory::buffer& data) { return checksum64(contents(tiny, data)); };
  const ckks::ciphertext plain = load_ciphertext(committed("ciphertext"), tiny);
  EXPECT_EQ(plain.parts.size(), 3U);
  const ckks::ciphertext seeded = load_ciphertext(committed("ciphertext_seeded"), tiny);
  EXPECT_EQ(sum(seeded.parts[1].data()), 1692713713356663268U);
  EXPECT_FALSE(seeded.key.is_known());
  const ckks::public_key key = load_public_key(committed("public_key"), tiny);
  EXPECT_EQ(sum(key.a.data()), 5919503665901678626U);
  EXPECT_FALSE(key.id.is_known());
  ckks::memory_key_set keys = load_evaluation_keys(committed("evaluation_keys"), tiny);
  EXPECT_FALSE(keys.id().is_known());
  EXPECT_EQ(keys.list().size(), 2U);
  EXPECT_FALSE(load_secret_key(committed("secret_key"), tiny).id.is_known());
  EXPECT_EQ(load_parameters(committed("parameters")), tiny.parameters());
  for (const char* name : {"parameters", "plaintext", "plaintext_special", "plaintext_compact", "ciphertext",
                           "ciphertext_seeded", "public_key", "secret_key", "evaluation_keys"}) {
    EXPECT_EQ(inspect(committed(name)).version, 1U) << name;
    EXPECT_EQ(inspect(committed(std::string(name) + "_v2")).version, 2U) << name;
  }
  // Saved again they are files of version 2, of the same content.
  const byte_vector again = to_bytes(tiny, seeded);
  EXPECT_EQ(inspect(again).version, 2U);
  EXPECT_EQ(sum(load_ciphertext(again, tiny).parts[1].data()), sum(seeded.parts[1].data()));
}

// Also writes the committed inputs of version 2 of fuzz_serialize and fuzz_parameters again when
// HALOCLINE_WRITE_CORPUS names cpp/tests/fuzz/corpus.
TEST(SerializeCorpus, SeedsOfTheFuzzersAreValid) {
  const test::temporary_folder scratch;
  const char* const corpus = std::getenv("HALOCLINE_WRITE_CORPUS");
  const auto folder = corpus == nullptr ? scratch.path() : std::filesystem::path(corpus);
  std::filesystem::create_directories(folder / "serialize");
  const auto shared = test::tiny_context();
  ckks::context& tiny = *shared;
  const auto objects = folder / "serialize";
  save(objects / "parameters_v2", tiny.parameters());
  save(objects / "plaintext_v2", tiny, test::sample_plaintext(tiny, 0));
  save(objects / "plaintext_special_v2", tiny, test::sample_plaintext(tiny, 1, true));
  save(objects / "plaintext_compact_v2", tiny, test::sample_compact_plaintext(tiny));
  save(objects / "ciphertext_v2", tiny, test::sample_ciphertext(tiny, 0, 3, false));
  save(objects / "ciphertext_seeded_v2", tiny, test::sample_ciphertext(tiny, 1, 2, true));
  save(objects / "public_key_v2", tiny, test::sample_public_key(tiny));
  ring::random_source random(backend::seed_bytes{1});
  save_secret_key(objects / "secret_key_v2", tiny, ckks::key_generator(tiny, random).make_secret_key());
  EXPECT_NO_THROW((void)load_secret_key(objects / "secret_key_v2", tiny));
  key_bundle_writer keys(objects / "evaluation_keys_v2", tiny);
  keys.add(test::sample_key(tiny, ckks::relinearization_element, 0, false));
  keys.add(test::sample_key(tiny, tiny.parameters().galois_element(1), 2, true));
  keys.finish();
  EXPECT_EQ(load_evaluation_keys(objects / "evaluation_keys_v2", tiny).list().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(WordBits, Serialize, ::testing::Values(32U, 64U),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace halocline::io
