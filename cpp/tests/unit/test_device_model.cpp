// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/device_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "halocline/backend/backend.hpp"
#include "halocline/backend/key_jobs.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/core/error.hpp"
#include "halocline/memory/sim/page_faults.hpp"
#include "halocline/memory/sim/replay.hpp"
#include "halocline/memory/trace.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

namespace sim = memory::sim;

constexpr double mib = 1 << 20;

TEST(DeviceModel, ShipsFiveModelsWithASourceForEveryConstant) {
  EXPECT_EQ(sim::device_names(),
            (std::vector<std::string>{"gtx1050", "gtx1660ti", "rtx4090", "a40", "h200"}));
  for (const std::string& name : sim::device_names()) {
    const sim::device_model& model = sim::device_by_name(name);
    EXPECT_EQ(model.name, name);
    EXPECT_NO_THROW(sim::validate(model));
    EXPECT_EQ(model.sources.size(), sim::device_fields().size());
    if (name == "h200") continue;
    for (const auto& [constant, source] : model.sources) {
      EXPECT_EQ(source.find("measured"), std::string::npos) << name << ", " << constant;
    }
  }
}

TEST(DeviceModel, CapacitiesAreThoseOfTheCards) {
  const std::map<std::string, double> gigabytes{
      {"gtx1050", 2}, {"gtx1660ti", 6}, {"rtx4090", 24}, {"a40", 48}, {"h200", 141}};
  for (const auto& [name, expected] : gigabytes) {
    const sim::device_model& model = sim::device_by_name(name);
    EXPECT_NEAR(model.capacity_bytes / 1e9, expected, 0.08 * expected) << name;
    EXPECT_NEAR(model.usable_bytes(), 0.95 * model.capacity_bytes, 1) << name;
  }
}

TEST(DeviceModel, RefusesNonsense) {
  EXPECT_THAT(message_of<invalid_argument>([] { (void)sim::device_by_name("h100"); }),
              testing::HasSubstr("gtx1660ti"));
  sim::device_model model = sim::device_by_name("a40");
  model.load_bytes_per_s = 0;
  EXPECT_THAT(message_of<invalid_argument>([&] { sim::validate(model); }),
              testing::HasSubstr("load_bytes_per_s"));
  model = sim::device_by_name("a40");
  model.reserved_bytes = model.capacity_bytes;
  EXPECT_THROW(sim::validate(model), invalid_argument);
  model = sim::device_by_name("a40");
  model.sources.erase("copy_us");
  EXPECT_THAT(message_of<invalid_argument>([&] { sim::validate(model); }), testing::HasSubstr("copy_us"));
  model = sim::device_by_name("a40");
  model.operations["ntt"].source.clear();
  EXPECT_THAT(message_of<invalid_argument>([&] { sim::validate(model); }), testing::HasSubstr("ntt"));
  model = sim::device_by_name("a40");
  model.other.launches = 64;
  EXPECT_NO_THROW(sim::validate(model));
  model.other.launches = 65;  // replays take a turn for each
  EXPECT_THAT(message_of<invalid_argument>([&] { sim::validate(model); }),
              testing::HasSubstr("launches is 65; expected a number in [0, 64]"));
}

TEST(DeviceModel, CostsAreThoseOfTheModel) {
  const sim::device_model& model = sim::device_by_name("h200");
  const memory::plan::cost_model costs = model.costs();
  for (const char* op : {"ntt", "base_convert", "add", "key_multiply_accumulate"}) {
    EXPECT_NEAR(costs.operation(op, 1e8), model.kernel_us(op, 1e8) * 1e3, 1e-6) << op;
  }
  EXPECT_EQ(costs.operation("ntt:a variant", 1e8), costs.operation("ntt", 1e8));
  EXPECT_EQ(costs.operation("unknown:seeded", 1e8), costs.other_operation.at(1e8));
  EXPECT_NEAR(costs.load.at(55.5e9), 1e9 + 2600, 1);
  EXPECT_NEAR(costs.expand.ns_per_byte, 1 / 1040.0, 1e-9);
  const memory::plan::cost_model doubled = model.costs(2);
  EXPECT_NEAR(doubled.operation("add", 1e8), 2 * costs.operation("add", 1e8), 1e-6);
  EXPECT_EQ(doubled.load, costs.load);
}

// Kernels of one H200 (cpp/bench/results/h200/kernels.json, key_multiply, 47 and 23 limbs): bytes with whole
// keys, those of halves that seeds stand for, and microseconds that expanding them takes longer than reading
// them.
TEST(DeviceModel, SeededKeysTakeLongerThanWholeOnes) {
  const sim::device_model& model = sim::device_by_name("h200");
  for (const auto& [bytes, half, longer] : {std::tuple{216.531e6, 61.866e6, 4.0}, {73.4e6, 18.35e6, 9.7}}) {
    const double whole = model.kernel_us("key_multiply_accumulate", bytes);
    const double seeded = model.kernel_us(backend::seeded_key_product, bytes - half);
    EXPECT_NEAR(seeded - whole, longer, 0.5) << bytes;
  }
}

// Microseconds of allocate, touch and free of managed memory on one H200, measured on 2026-11-20.
TEST(DeviceModel, ReproducesTheMeasuredManagedAllocations) {
  const sim::device_model& model = sim::device_by_name("h200");
  const std::map<double, double> measured{{1, 125}, {16, 1018}, {64, 4049}, {256, 17816}};
  for (const auto& [size, expected] : measured) {
    sim::unified_memory memory(1 << 30, 2 << 20, 64 << 10, 256);
    const auto bytes = static_cast<std::uint64_t>(size * mib);
    memory.add(1, bytes, memory::advice::none, false);
    const std::vector<sim::managed_range> all{{1, 0, bytes, true}};
    const double us =
        model.managed_allocate_us + sim::service_us(memory.touch(all), model) + model.managed_free_us;
    EXPECT_NEAR(us, expected, 0.1 * expected) << size << " MiB";
  }
}

TEST(DeviceModel, ReproducesTheMeasuredMigrationAndPrefetchRates) {
  const sim::device_model& model = sim::device_by_name("h200");
  sim::fault_work gib;
  gib.faults = 1 << 14;
  gib.batches = 1 << 6;
  gib.migrated_bytes = 1 << 30;
  EXPECT_NEAR(static_cast<double>(gib.migrated_bytes) / sim::service_us(gib, model) * 1e-3, 8.8, 0.1);
  const double prefetch_us = mib / model.load_bytes_per_s * 1e6 + model.prefetch_us_per_mib;
  EXPECT_NEAR(mib / prefetch_us * 1e-3, 51.0, 0.5);
}

/// Microseconds by phase of a rotation, a multiplication and an addition with ciphertexts of about `limbs`
/// limbs and the special primes of Cheddar's bootparam_40: N = 2^16, 32-bit words, 4 digits of 12 primes.
std::map<std::string, double> operation_times(unsigned depth, double& limbs) {
  params::literal source;
  source.log_n = 16;
  source.depth = depth;
  source.special_primes = 12;
  source.digit_size = 12;
  source.allow_insecure = true;
  ckks::engine_options options;
  options.device = "ghost";
  ckks::engine engine(params::parameters::from_literal(source), options);
  const params::level_info& top = engine.parameters().level(depth);
  const ckks::ciphertext a = engine.ghost_input(depth, top.scale, 32768);
  const ckks::ciphertext b = engine.ghost_input(depth, top.scale, 32768);
  memory::runtime& runtime = engine.context().runtime();
  runtime.start_trace();
  runtime.set_phase("rotate");
  (void)engine.evaluator().rotate(a, 1);
  runtime.set_phase("multiply");
  (void)engine.evaluator().multiply(a, b);
  runtime.set_phase("add");
  (void)engine.evaluator().add(a, b);
  const memory::trace recorded = runtime.stop_trace();

  std::map<std::string, double> result;
  std::map<std::pair<std::string, std::uint64_t>, std::pair<std::string, double>> steps;
  for (const memory::trace_event& event : recorded.events) {
    if (event.action != memory::trace_action::read && event.action != memory::trace_action::write) continue;
    const std::string& tag = recorded.tag(event);
    auto& [op, bytes] = steps[{tag.substr(0, tag.find('/')), event.step}];
    op = recorded.op(event);
    if (event.cls != memory::object_class::table) bytes += static_cast<double>(event.bytes);
    if (op == "add") limbs = static_cast<double>(event.bytes) / 262144;
  }
  for (const auto& [step, cost] : steps) {
    if (cost.first == "upload") continue;  // tables that the first rotation makes
    result[step.first] += sim::device_by_name("h200").kernel_us(cost.first, cost.second);
  }
  return result;
}

// Microseconds at 47 and at 23 limbs on one H200: cpp/bench/results/h200/operations.json.
TEST(DeviceModel, ReproducesTheMeasuredOperations) {
  const auto check = [](unsigned depth, double measured_limbs,
                        const std::map<std::string, double>& measured) {
    double limbs = 0;
    const std::map<std::string, double> times = operation_times(depth, limbs);
    EXPECT_NEAR(limbs, measured_limbs, 1.5);
    for (const auto& [operation, measured_us] : measured) {
      const double us = measured_us * limbs / measured_limbs;
      EXPECT_NEAR(times.at(operation), us, 0.12 * us) << operation << " at " << limbs << " limbs";
    }
  };
  check(33, 47, {{"rotate", 263}, {"multiply", 276}, {"add", 14.3}});
  check(16, 23, {{"rotate", 125}, {"multiply", 132}, {"add", 6.0}});
}

}  // namespace
}  // namespace halocline::test
