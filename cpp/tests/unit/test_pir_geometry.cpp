// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "halocline/core/error.hpp"
#include "support/message_of.hpp"
#include "support/pir_samples.hpp"

namespace halocline::pir {
namespace {

using test::message_of;
using test::small_geometry;
using test::small_literal;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(PirGeometry, PlacesOfSmallRecords) {
  const geometry of = small_geometry(1000, 100);
  ASSERT_EQ(of.scheme.plaintext_bytes(), 1024U);
  EXPECT_EQ(of.records_per_plaintext(), 10U);
  EXPECT_EQ(of.planes(), 1U);
  EXPECT_EQ(of.plaintexts(), 100U);
  EXPECT_EQ(of.group_bytes(), 1000U);
  for (const std::uint64_t record : {0U, 9U, 10U, 505U, 999U}) {
    EXPECT_EQ(of.locate(record).plaintext, record / 10) << record;
    EXPECT_EQ(of.locate(record).offset, record % 10 * 100) << record;
  }
  EXPECT_THAT([&] { (void)of.locate(1000); },
              ThrowsMessage<invalid_argument>(HasSubstr("expected 0 to 999")));
}

TEST(PirGeometry, PlacesOfLargeRecords) {
  for (const auto& [bytes, planes] : {std::pair{1024U, 1U}, {1025U, 2U}, {2048U, 2U}, {2049U, 3U}}) {
    const geometry of = small_geometry(50, bytes);
    EXPECT_EQ(of.planes(), planes) << bytes;
    EXPECT_EQ(of.records_per_plaintext(), 1U);
    EXPECT_EQ(of.plaintexts(), 50U);
    EXPECT_EQ(of.locate(49).plaintext, 49U);
    EXPECT_EQ(of.locate(49).offset, 0U);
  }
}

TEST(PirGeometry, RefusesDatabasesBeyondTheLimits) {
  const parameters scheme = preset("pir-n4096");
  const auto refusal = [&scheme](std::uint64_t records, std::uint64_t bytes) {
    return message_of<invalid_argument>([&] { (void)make_geometry(scheme, records, bytes); });
  };
  EXPECT_THAT(refusal(0, 1), HasSubstr("0 records"));
  EXPECT_THAT(refusal(1, 0), HasSubstr("records of 0 bytes"));
  EXPECT_THAT(refusal(max_records + 1, 1), HasSubstr("expected 1 to 1099511627776"));
  EXPECT_THAT(refusal(1, max_record_bytes + 1), HasSubstr("expected 1 to 1073741824"));
  EXPECT_THAT(refusal(max_records, max_record_bytes), HasSubstr("70368744177664 bytes in all"));
  EXPECT_EQ(make_geometry(scheme, 1, max_record_bytes).planes(), 87382U);
  EXPECT_EQ(make_geometry(scheme, 1, 1).at.columns, 1U);
}

TEST(PirGeometry, TextsComeBackAsTheyWere) {
  literal fixed = small_literal();
  fixed.selection_digits = 3;
  fixed.log2_failure = -0.0;
  for (const geometry& of :
       {make_geometry(preset("pir-n4096"), 1 << 20, 1024), make_geometry(preset("pir-n2048"), 100000, 3),
        make_geometry(preset("paper", true), 300000, 3328), small_geometry(10, 5000, fixed)}) {
    const std::string text = to_json(of);
    const geometry again = geometry_from_json(text, true);
    EXPECT_EQ(to_json(again), text);
    EXPECT_EQ(again.at, of.at);
    EXPECT_EQ(again.records, of.records);
    EXPECT_EQ(again.record_bytes, of.record_bytes);
    EXPECT_EQ(fingerprint_of(again), fingerprint_of(of));
    EXPECT_EQ(key_shape_of(again), key_shape_of(of));
    literal source = again.scheme.source();
    source.allow_insecure = of.scheme.source().allow_insecure;
    EXPECT_EQ(source, of.scheme.source());
  }
}

TEST(PirGeometry, CanonicalText) {
  const parameters scheme = preset("pir-n2048");
  const geometry of{scheme, {4, 5, scheme.split(1), scheme.split(2), scheme.split(3), 12, 19}, 100, 300};
  EXPECT_EQ(
      to_json(of),
      R"({"schema":1,"id":"00000000000000000000000000000000","scheme":{"name":"pir-n2048","log_n":11,"prime_count":2,"prime_bits":26.5,)"
      R"("plain_bits":10,"error_stddev":3.2,"log2_failure":-40,"expansion_digits":null,)"
      R"("selection_digits":null,"secret_digits":null,"answer_bits":null},"layout":{"rows":4,)"
      R"("columns":5,"expansion_digits":1,"selection_digits":2,"secret_digits":3,"answer_bits0":12,)"
      R"("answer_bits1":19},"records":100,"record_bytes":300})");
}

TEST(PirGeometry, IdentitiesTellDatabasesOfOneShapeApart) {
  const geometry first = make_geometry(preset("pir-n2048"), 100, 300);
  geometry second = first;
  second.id = {0x0f, 0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xff};
  EXPECT_NE(fingerprint_of(second), fingerprint_of(first));
  EXPECT_EQ(key_shape_of(second), key_shape_of(first));
  const std::string text = to_json(second), written = "0fa00102030405060708090a0b0c0dff";
  const std::size_t at = text.find(written);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(geometry_from_json(text).id, second.id);
  for (const char* wrong : {"", "0f", "0FA00102030405060708090A0B0C0DFF", "0fa00102030405060708090a0b0c0df ",
                            "0fa00102030405060708090a0b0c0dff00"}) {
    std::string changed = text;
    changed.replace(at, written.size(), wrong);
    EXPECT_THROW((void)geometry_from_json(changed), invalid_argument) << wrong;
  }
}

TEST(PirGeometry, InsecureTextsNeedPermission) {
  const std::string text = to_json(make_geometry(preset("paper", true), 1000, 3328));
  EXPECT_THROW((void)geometry_from_json(text), insecure_parameters);
  EXPECT_TRUE(geometry_from_json(text, true).scheme.source().allow_insecure);
}

/// The text of a geometry with one part replaced; the part must be there.
std::string changed(std::string_view part, std::string_view replacement) {
  std::string text = to_json(make_geometry(preset("pir-n4096"), 1 << 18, 4096));
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part << " in " << text;
  return text.replace(at, part.size(), replacement);
}

std::string refusal_of(const std::string& text) {
  return message_of<invalid_argument>([&] { (void)geometry_from_json(text); });
}

TEST(PirGeometry, RefusesUnknownAndMissingFields) {
  EXPECT_THAT(refusal_of(changed("\"records\"", R"("more":1,"records")")),
              HasSubstr("unknown field \"more\""));
  EXPECT_THAT(refusal_of(changed("\"rows\"", R"("more":1,"rows")")), HasSubstr("in \"layout\""));
  EXPECT_THAT(refusal_of(changed("\"name\"", R"("allow_insecure":true,"name")")),
              HasSubstr("unknown field \"allow_insecure\""));
  EXPECT_THAT(refusal_of(changed("\"schema\":1,", "")), HasSubstr("lacks the field \"schema\""));
  EXPECT_THAT(refusal_of(changed(",\"answer_bits\":null", "")), HasSubstr("lacks the field \"answer_bits\""));
  EXPECT_THAT(refusal_of("[]"), HasSubstr("expected an object"));
  EXPECT_THROW((void)geometry_from_json("{"), corrupt_data);
  EXPECT_THROW((void)geometry_from_json(std::string(5000, ' ')), corrupt_data);
}

TEST(PirGeometry, RefusesFieldsOutOfRange) {
  EXPECT_THAT(refusal_of(changed("\"schema\":1", "\"schema\":2")), HasSubstr("schema 2; expected 1"));
  EXPECT_THAT(refusal_of(changed("\"log_n\":12", "\"log_n\":14")), HasSubstr("log_n is 14"));
  EXPECT_THAT(refusal_of(changed("\"log_n\":12", "\"log_n\":\"12\"")), HasSubstr("log_n"));
  EXPECT_THAT(refusal_of(changed("\"prime_bits\":26.5", "\"prime_bits\":31")), HasSubstr("prime_bits is 31"));
  EXPECT_THAT(refusal_of(changed("\"records\":262144", "\"records\":0")), HasSubstr("records"));
  EXPECT_THAT(refusal_of(changed("\"records\":262144", "\"records\":2199023255552")), HasSubstr("records"));
  EXPECT_THAT(refusal_of(changed("\"record_bytes\":4096", "\"record_bytes\":1.5")),
              HasSubstr("record_bytes"));
  EXPECT_THAT(refusal_of(changed("pir-n4096", std::string(65, 'x'))), HasSubstr("a name of 65 bytes"));
  EXPECT_THAT(refusal_of(changed("pir-n4096", "a\\u0001")), HasSubstr("printable"));
}

TEST(PirGeometry, RefusesLayoutsThatDoNotFit) {
  const layout at = make_geometry(preset("pir-n4096"), 1 << 18, 4096).at;
  const auto field = [](const char* name, std::uint64_t value) {
    return std::string("\"") + name + "\":" + std::to_string(value);
  };
  const auto refused = [&](const char* name, std::uint64_t was, std::uint64_t now) {
    return refusal_of(changed(field(name, was), field(name, now)));
  };
  EXPECT_THAT(refused("columns", at.columns, at.columns + 1), HasSubstr("columns; expected"));
  EXPECT_THAT(refused("rows", at.rows, at.rows + 1), HasSubstr("power of two"));
  EXPECT_THAT(refused("rows", at.rows, at.rows / 2), HasSubstr("columns; expected"));
  EXPECT_THAT(refused("answer_bits0", at.answer_bits0, 24), HasSubstr("answers of 24 bits"));
  EXPECT_THAT(refused("answer_bits0", at.answer_bits0, 64), HasSubstr("answer_bits0"));
  EXPECT_THAT(refused("answer_bits1", at.answer_bits1, at.answer_bits1 - 1), HasSubstr("allows 2^-40"));
  EXPECT_THAT(refusal_of(changed("\"selection_digits\":null", "\"selection_digits\":8")),
              HasSubstr("the scheme says 8"));
  EXPECT_THAT(refusal_of(changed("\"answer_bits\":null", "\"answer_bits\":40")),
              HasSubstr("the scheme says 40"));
  EXPECT_THAT(refusal_of(changed("\"plain_bits\":24", "\"plain_bits\":25")), HasSubstr("retrieval layout"));
}

TEST(PirGeometry, KeyShapesFollowFromTheRingAndTheKeys) {
  const geometry base = small_geometry(1000, 1024);
  const auto with = [&base](auto change) {
    literal source = small_literal();
    geometry made = base;
    change(source, made.at);
    made.scheme = parameters::from_literal(source);
    return key_shape_of(made);
  };
  const auto same = key_shape_of(base);
  EXPECT_EQ(with([](literal&, layout&) {}), same);
  EXPECT_EQ(with([](literal& s, layout&) { s.plain_bits = 9; }), same);
  EXPECT_EQ(with([](literal& s, layout&) { s.name = "other"; }), same);
  EXPECT_EQ(with([](literal&, layout& at) { at.rows = 1; }), same);
  EXPECT_EQ(with([](literal&, layout& at) { at.selection.digits += 1; }), same);
  EXPECT_NE(with([](literal& s, layout&) { s.log_n = 11; }), same);
  EXPECT_NE(with([](literal& s, layout&) { s.prime_count = 3; }), same);
  EXPECT_NE(with([](literal& s, layout&) { s.error_stddev = 3.3; }), same);
  EXPECT_NE(with([](literal&, layout& at) { at.expansion.digits += 1; }), same);
  EXPECT_NE(with([](literal&, layout& at) { at.expansion.base_bits += 1; }), same);
  EXPECT_NE(with([](literal&, layout& at) { at.secret.digits += 1; }), same);
  EXPECT_NE(fingerprint_of(small_geometry(1001, 1024)), fingerprint_of(base));
  EXPECT_EQ(fingerprint_of(small_geometry(1000, 1024)), fingerprint_of(base));
}

}  // namespace
}  // namespace halocline::pir
