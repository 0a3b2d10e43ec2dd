// SPDX-License-Identifier: Apache-2.0
// How calls of operations reach the kernels of a backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/op_table.hpp"
#include "halocline/arith/modulus.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr op_kind retrieval_operations[] = {
    op_kind::array_ntt,    op_kind::array_intt,    op_kind::array_sub,       op_kind::array_scale,
    op_kind::split_digits, op_kind::digit_product, op_kind::expand_children, op_kind::expand_node,
    op_kind::select_pair,  op_kind::select_tree,   op_kind::turn_points,     op_kind::row_select,
    op_kind::round_answer, op_kind::unpack_plain};

/// What the rows of the tests below were called with.
struct site {
  std::vector<std::string>* calls;
};

void note_additions(const site& on, std::span<const binary_job> jobs) {
  on.calls->push_back("add " + std::to_string(jobs.size()));
}
void note_copies(const site& on, std::span<const unary_job> jobs) {
  on.calls->push_back("copy " + std::to_string(jobs.size()));
}

/// A backend that has additions for both words, and copies for one, as one begins.
class partial_backend final : public backend {
 public:
  partial_backend() : backend(make_runtime()) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "partial"; }
  [[nodiscard]] op_set operations(unsigned word_bits) const noexcept override {
    return word_bits == 32 ? word32_.operations() : word64_.operations();
  }
  [[nodiscard]] capability describe() const override { return {}; }

  std::vector<std::string> calls;

 protected:
  void run(const job_batch& batch, const memory::access&) override {
    (batch.ring().word_bits == 32 ? word32_ : word64_).run({&calls}, batch);
  }
  void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) override {
    std::memcpy(dst, src.data(), src.size());
  }
  void do_download(std::span<std::byte>, const std::byte*, stream_view) override {}

 private:
  static std::shared_ptr<memory::runtime> make_runtime() { return memory::runtime::create({}); }

  op_table<site> word64_{row<note_additions>(ops::add)};
  op_table<site> word32_{word64_, op_table<site>{row<note_copies>(ops::copy)}};
};

/// A ring of one prime, N = 16, and two limbs in it.
template <typename WordT>
struct small_ring {
  explicit small_ring(backend& on) {
    tables.log_n = 4;
    tables.word_bits = 8 * sizeof(WordT);
    tables.primes = {97};
    const std::vector<arith::modulus<WordT>> moduli{arith::make_modulus(WordT{97})};
    tables.moduli = on.runtime().allocate(sizeof(moduli[0]), memory::object_class::table, "moduli");
    on.upload(tables.moduli, 0, std::as_bytes(std::span(moduli)));
    data = on.runtime().allocate(2 * tables.limb_bytes(), memory::object_class::scratch, "limbs");
    const std::vector<WordT> words(2 * tables.n(), WordT{96});
    on.upload(data, 0, std::as_bytes(std::span(words)));
  }
  [[nodiscard]] limb_view limb(std::uint32_t i) const { return {&data, i, {0, 1}}; }

  ring_tables tables;
  memory::buffer data;
};

TEST(OpKind, EveryOperationHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t op = 0; op < op_kind_count; ++op) names.insert(to_string(static_cast<op_kind>(op)));
  EXPECT_EQ(names.size(), op_kind_count);
  EXPECT_EQ(to_string(op_kind::ntt), "ntt");
  EXPECT_EQ(to_string(op_kind::negacyclic_shift), "negacyclic_shift");
  EXPECT_EQ(to_string(op_kind::set_zero), "set_zero");
  EXPECT_EQ(to_string(op_kind::download), "download");
}

TEST(OpSet, HasWhatWasPutIn) {
  op_set set{op_kind::ntt, op_kind::download};
  EXPECT_TRUE(set.contains(op_kind::ntt) && set.contains(op_kind::download));
  EXPECT_FALSE(set.contains(op_kind::intt) || set.contains(op_kind::upload));
  set.erase(op_kind::ntt);
  EXPECT_EQ(set, op_set{op_kind::download});
  for (std::size_t op = 0; op < op_kind_count; ++op) set.insert(static_cast<op_kind>(op));
  EXPECT_EQ(set, op_set::everything());
}

TEST(Dispatch, ABackendHasWhatItsTableLists) {
  partial_backend device;
  EXPECT_EQ(device.operations(32), (op_set{op_kind::add, op_kind::copy, op_kind::upload, op_kind::download}));
  EXPECT_EQ(device.operations(64), (op_set{op_kind::add, op_kind::upload, op_kind::download}));
  EXPECT_TRUE(device.supports(op_kind::copy, 32));
  EXPECT_FALSE(device.supports(op_kind::copy, 64));
}

TEST(Dispatch, TakesEachBatchToItsRowAndRefusesTheOthers) {
  partial_backend device;
  const small_ring<std::uint32_t> narrow(device);
  const small_ring<std::uint64_t> wide(device);
  const std::vector<binary_job> additions(3, {narrow.limb(0), narrow.limb(0), narrow.limb(1)});
  const std::vector<binary_job> wide_additions(3, {wide.limb(0), wide.limb(0), wide.limb(1)});
  const std::vector<unary_job> copies{{narrow.limb(0), narrow.limb(1)}};
  const std::vector<unary_job> wide_copies{{wide.limb(0), wide.limb(1)}};
  device.add(narrow.tables, additions);
  device.copy(narrow.tables, copies);
  device.copy(narrow.tables, {});
  device.add(wide.tables, wide_additions);
  EXPECT_THAT(device.calls, ElementsAre("add 3", "copy 1", "add 3"));

  const std::uint64_t steps = device.runtime().statistics().steps;
  EXPECT_THAT([&] { device.copy(wide.tables, wide_copies); },
              ThrowsMessage<device_error>("backend 'partial' has no copy for 64-bit words"));
  EXPECT_THAT([&] { device.negate(narrow.tables, copies); },
              ThrowsMessage<device_error>("backend 'partial' has no negate for 32-bit words"));
  EXPECT_EQ(device.calls.size(), 3U);
  EXPECT_EQ(device.runtime().statistics().steps, steps) << "a refused operation touched its buffers";
}

TEST(Dispatch, ABatchIsReadAsWhatItIs) {
  const ring_tables ring;
  const std::vector<unary_job> jobs(2);
  const job_batch batch(ops::negate, ring, std::span<const unary_job>(jobs), stream_view(3));
  EXPECT_EQ(batch.op(), op_kind::negate);
  EXPECT_EQ(batch.stream().id(), 3U);
  EXPECT_EQ(batch.of(ops::negate).data(), jobs.data());
  EXPECT_EQ(batch.of(ops::negate).size(), 2U);
  EXPECT_THAT([&] { (void)batch.of(ops::add); },
              ThrowsMessage<invalid_argument>(AllOf(HasSubstr("negate"), HasSubstr("add"))));
}

/// Private retrieval has 32-bit words only.
TEST(Dispatch, BackendsOfThisBuildHaveEverythingForTheirWords) {
  for (const char* const device : {"cpu", "ghost"}) {
    EXPECT_EQ(make_backend(device)->operations(32), op_set::everything()) << device;
  }
  EXPECT_EQ(make_backend("ghost")->operations(64), op_set::everything());
  op_set wide = op_set::everything();
  for (const op_kind op : retrieval_operations) wide.erase(op);
  EXPECT_EQ(make_backend("cpu")->operations(64), wide);
  EXPECT_EQ(make_backend("cpu")->operations(16), op_set());
}

/// `negacyclic_shift` needed no line of its own for any of this.
TEST(Dispatch, TracesAndProfilesNameOperationsAndTheirOperands) {
  std::vector<std::string> rows[2];
  for (const bool ghost : {false, true}) {
    const auto device = make_backend(ghost ? "ghost" : "cpu");
    const small_ring<std::uint32_t> ring(*device);
    const shift_job job{ring.limb(1), ring.limb(0), 5};
    device->runtime().start_trace();
    device->start_profile();
    device->negacyclic_shift(ring.tables, {&job, 1});
    const profile times = device->stop_profile();
    ASSERT_EQ(times.rows.size(), 1U);
    EXPECT_EQ(times.rows[0].op, "negacyclic_shift");
    const memory::trace trace = device->runtime().stop_trace();
    for (const memory::trace_event& each : trace.events) {
      if (each.action == memory::trace_action::exists) continue;
      rows[ghost].push_back(trace.op(each) + " " + std::string(to_string(each.action)) + " " +
                            std::to_string(each.offset) + "+" + std::to_string(each.bytes) + " " +
                            trace.tag(each));
    }
  }
  EXPECT_THAT(rows[0], ElementsAre("negacyclic_shift read 0+64 limbs", HasSubstr("negacyclic_shift read 0+"),
                                   "negacyclic_shift write 64+64 limbs"));
  EXPECT_EQ(rows[0], rows[1]);
}

}  // namespace
}  // namespace halocline::backend
