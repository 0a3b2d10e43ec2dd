// SPDX-License-Identifier: Apache-2.0
// What a server accepts and refuses.
#include "halocline/pir/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "halocline/core/error.hpp"
#include "pir/message_frame.hpp"
#include "support/pir_rig.hpp"

namespace halocline::pir {
namespace {

using test::bytes;
using test::pir_rig;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

geometry small(const char* set = "pir-n2048", std::uint64_t records = 12, std::uint32_t rows = 4) {
  const parameters scheme = test::set_named(set);
  return make_geometry(scheme, records, scheme.plaintext_bytes(), {.rows = rows});
}

class PirServer : public testing::Test {
 protected:
  pir_rig rig_{small()};
  pir_rig::user user_ = rig_.make_user(1);

  /// Answers of a batch.
  std::vector<bytes> answer(const std::vector<std::shared_ptr<const server_keys>>& keys,
                            const std::vector<bytes>& queries) {
    const std::vector<std::span<const std::byte>> views(queries.begin(), queries.end());
    return rig_.server.answer(keys, views);
  }
  /// That the second of two queries is refused before the first one is answered.
  template <typename ErrorT>
  void refuses(const bytes& query, const std::shared_ptr<const server_keys>& keys, const char* part) {
    const bytes good = user_.client.query(3);
    const std::uint64_t steps = rig_.server.scope().runtime().statistics().steps;
    EXPECT_THAT(
        [&] {
          (void)answer({user_.keys, keys}, {good, query});
        },
        ThrowsMessage<ErrorT>(testing::AllOf(HasSubstr("query 1 of the batch"), HasSubstr(part))));
    EXPECT_EQ(rig_.server.scope().runtime().statistics().steps, steps) << "work was done";
  }
};

TEST_F(PirServer, NoQueriesHaveNoAnswers) { EXPECT_TRUE(answer({}, {}).empty()); }

TEST_F(PirServer, RefusesDamagedAndTruncatedQueries) {
  const bytes good = user_.client.query(3);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{47}, good.size() - 1}) {
    refuses<corrupt_data>(bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)), user_.keys,
                          "");
  }
  bytes longer = good;
  longer.push_back(std::byte{0});
  refuses<corrupt_data>(longer, user_.keys, "");
  for (std::size_t at = 0; at < good.size(); at += good.size() / 40) {
    bytes damaged = good;
    damaged[at] ^= std::byte{0x10};
    refuses<error>(damaged, user_.keys, "");
  }
  refuses<error>(user_.client.server_keys(), user_.keys, "");
}

/// A message with a residue of all ones, which no prime exceeds, and a right checksum.
bytes with_large_residue(bytes message, const geometry& shape, std::size_t number) {
  constexpr std::size_t seed_bytes = 32;
  const auto bits = static_cast<std::size_t>(std::bit_width(shape.scheme.primes()[0]));
  const std::span<std::byte> content = content_of(message).subspan(seed_bytes);
  for (std::size_t bit = number * bits; bit < (number + 1) * bits; ++bit) {
    content[bit / 8] |= std::byte{1} << (bit % 8);
  }
  finish_frame(message);
  return message;
}

TEST_F(PirServer, RefusesResiduesThatAreNotReduced) {
  const bytes good = user_.client.query(3);
  const std::size_t residues = rig_.shape.scheme.n() * rig_.shape.scheme.primes().size();
  for (const std::size_t number : {std::size_t{0}, rig_.shape.scheme.n() + 77, residues - 1}) {
    refuses<corrupt_data>(with_large_residue(good, rig_.shape, number), user_.keys, "not below its prime");
  }
}

TEST_F(PirServer, RefusesQueriesToOtherDatabasesAndRings) {
  pir::client other(small("pir-n2048", 13), nullptr, test::seed_of(1));
  refuses<invalid_argument>(other.query(3), user_.keys, "");
  pir::client larger(small("pir-n4096"), nullptr, test::seed_of(1));
  refuses<invalid_argument>(larger.query(3), user_.keys, "");
  const bytes foreign = larger.server_keys();
  EXPECT_THROW((void)rig_.server.load_keys(foreign), invalid_argument);
}

TEST_F(PirServer, RefusesKeysOfAnotherClient) {
  const pir_rig::user other = rig_.make_user(2);
  refuses<key_mismatch>(user_.client.query(3), other.keys, to_string(user_.client.id()).c_str());
}

TEST_F(PirServer, RefusesMissingKeysAndKeysOfAnotherServer) {
  refuses<invalid_argument>(user_.client.query(3), nullptr, "load_keys");
  pir_rig twin(rig_.shape);
  const bytes message = user_.client.server_keys();
  refuses<invalid_argument>(user_.client.query(3), twin.server.load_keys(message), "another server");
  EXPECT_THAT([&] { (void)answer({}, {user_.client.query(3)}); },
              ThrowsMessage<invalid_argument>(HasSubstr("keys of 0 clients for 1 queries")));
}

TEST_F(PirServer, RefusesDamagedKeys) {
  const bytes good = user_.client.server_keys();
  EXPECT_THROW((void)rig_.server.load_keys(std::span(good).first(good.size() - 1)), corrupt_data);
  EXPECT_THROW((void)rig_.server.load_keys(std::span(good).first(0)), corrupt_data);
  bytes damaged = good;
  damaged[good.size() / 2] ^= std::byte{1};
  EXPECT_THROW((void)rig_.server.load_keys(damaged), corrupt_data);
  EXPECT_THROW((void)rig_.server.load_keys(with_large_residue(good, rig_.shape, 4321)), corrupt_data);
}

// The same secret asks a database of more constants and one of fewer.
TEST_F(PirServer, AcceptsKeysOfADeeperExpansion) {
  pir_rig deep(small("pir-n2048", 200, 64));
  pir::client wide(deep.shape, nullptr, test::seed_of(7));
  const bytes secret = wide.secret_bytes();
  pir_rig::user narrow{pir::client::from_secret(rig_.shape, secret), nullptr};
  ASSERT_EQ(key_shape_of(deep.shape), key_shape_of(rig_.shape));
  ASSERT_GT(deep.shape.at.expansion_depth(deep.shape.scheme),
            rig_.shape.at.expansion_depth(rig_.shape.scheme));
  narrow.keys = rig_.server.load_keys(wide.server_keys());
  EXPECT_TRUE(std::ranges::equal(rig_.fetch(narrow, 9), rig_.record(9)));
  const bytes shallow = narrow.client.server_keys();
  // Levels that this database does not need take no memory.
  EXPECT_EQ(narrow.keys->rows.size(), rig_.server.load_keys(shallow)->rows.size());
  EXPECT_THROW((void)deep.server.load_keys(shallow), invalid_argument);
}

TEST_F(PirServer, AnswersNameTheKeysThatTheyWereComputedWith) {
  // Another party has the client's identifier, but neither its secret nor the key of its seals.
  pir::client eve(rig_.shape, nullptr, test::seed_of(9));
  server_keys_message forged = read_server_keys(rig_.shape, eve.server_keys());
  const bytes genuine = user_.client.server_keys();
  forged.client = user_.client.id();
  forged.stamp.seal = read_server_keys(rig_.shape, genuine).stamp.seal;
  const bytes message = write_server_keys(rig_.shape, forged);
  const bytes query = user_.client.query(3);
  const auto answered = [&](const bytes& keys) { return answer({rig_.server.load_keys(keys)}, {query})[0]; };
  EXPECT_EQ(read_answer(rig_.shape, answered(message)).keys.hash, hash_of_keys(message));
  EXPECT_THAT([&] { (void)user_.client.decode(3, query, answered(message)); },
              ThrowsMessage<key_mismatch>(HasSubstr("another party")));
  EXPECT_TRUE(std::ranges::equal(user_.client.decode(3, query, answered(genuine)), rig_.record(3)));
}

TEST_F(PirServer, TimesItsStages) {
  rig_.server.time_stages(true);
  (void)rig_.fetch(user_, 3);
  const stage_times& times = rig_.server.times();
  for (const double each : {times.expansion, times.completion, times.rows, times.columns, times.answers}) {
    EXPECT_GT(each, 0);
  }
}

// Keys are keys, the database is plaintexts, all else that a batch needs is scratch and goes with it.
TEST_F(PirServer, BatchesLeaveNothingBehind) {
  (void)rig_.fetch(user_, 3);
  const memory::stats before = rig_.server.scope().runtime().statistics();
  const auto live = [](const memory::stats& of, memory::object_class cls) {
    return of.live_by_class[static_cast<std::size_t>(cls)];
  };
  const parameters& scheme = rig_.shape.scheme;
  const layout& at = rig_.shape.at;
  EXPECT_EQ(live(before, memory::object_class::plaintext), sizes(scheme, at).database);
  const std::size_t rows =
      scheme.primes().size() * (at.expansion_depth(scheme) * at.expansion.digits + at.secret.digits);
  EXPECT_EQ(live(before, memory::object_class::evaluation_key),
            rows * 2 * rig_.server.scope().polynomial_bytes());
  EXPECT_EQ(live(before, memory::object_class::scratch), 0U);
  (void)rig_.fetch(user_, 5);
  EXPECT_EQ(rig_.server.scope().runtime().statistics().live_bytes, before.live_bytes);
}

TEST_F(PirServer, ReplacedRecordsAreAnsweredFromThenOn) {
  const bytes fresh = test::random_bytes(rig_.shape.record_bytes, 99);
  rig_.server.records().replace(6, fresh);
  EXPECT_EQ(rig_.fetch(user_, 6), fresh);
  EXPECT_TRUE(std::ranges::equal(rig_.fetch(user_, 7), rig_.record(7)));
}

}  // namespace
}  // namespace halocline::pir
