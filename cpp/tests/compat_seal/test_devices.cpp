// SPDX-License-Identifier: Apache-2.0
// Marks, lazy copies and queues, on a device that is a second CPU backend under the name of a GPU.
#include <sstream>
#include <thread>

#include "engines.hpp"
#include "operation.hpp"
#include "seal/device.h"
#include "seal_rig.hpp"

namespace seal::test {
namespace {

using halocline_detail::ciphertext_access;
using halocline_detail::plaintext_access;
constexpr double device_tolerance = 1e-4;

/// "cuda:0" while it lives.
struct simulated_gpu {
  simulated_gpu() {
    halocline_detail::add_device("cuda:0", [this](const halocline::backend::backend_options& options) {
      if (fails) throw halocline::device_error("the simulated device cannot be opened");
      ++opened;
      return halocline::backend::make_backend("cpu", options);
    });
  }
  simulated_gpu(const simulated_gpu&) = delete;
  simulated_gpu& operator=(const simulated_gpu&) = delete;
  ~simulated_gpu() { halocline_detail::remove_device("cuda:0"); }

  std::atomic<int> opened = 0;
  bool fails = false;
};

[[nodiscard]] bool is_away(const Ciphertext& of) { return ciphertext_access::device(of).is_newer(); }

TEST(CompatDevices, WithoutADeviceMarksAreRefused) {
  rig r;
  Ciphertext x = r.encrypt(r.values());
  const auto known = halocline::backend::available_devices();
  if (std::find(known.begin(), known.end(), "cuda:0") == known.end()) {
    EXPECT_THROW(x.gpu(), std::runtime_error);
    EXPECT_THROW(x.to("cuda:0"), std::runtime_error);
    EXPECT_THROW(r.relin.gpu(), std::runtime_error);
  }
  EXPECT_FALSE(x.on_gpu());
  EXPECT_THROW(x.to("tpu"), std::invalid_argument);
  EXPECT_THROW(x.to(""), std::invalid_argument);
  EXPECT_FALSE(x.to("cpu").on_gpu());
}

TEST(CompatDevices, MarkedOperandsMarkResults) {
  const simulated_gpu gpu;
  rig r;
  const slots a = r.values();
  Ciphertext x = r.encrypt(a), y = r.encrypt(a), z;
  Plaintext plain = r.encode(a);
  r.evaluator.add(x, y, z);
  EXPECT_FALSE(z.on_gpu());
  EXPECT_EQ(gpu.opened, 0);
  EXPECT_EQ(&x.gpu(), &x);
  EXPECT_TRUE(x.on_gpu());
  EXPECT_EQ(gpu.opened, 0);  // nothing is copied yet
  r.evaluator.add(y, x, z);
  EXPECT_TRUE(z.on_gpu());
  EXPECT_EQ(gpu.opened, 1);
  r.evaluator.multiply_plain(y, plain, z);
  EXPECT_FALSE(z.on_gpu());
  plain.gpu();
  r.evaluator.multiply_plain(y, plain, z);
  EXPECT_TRUE(z.on_gpu());
  r.evaluator.square(y, z);
  r.relin.gpu();
  r.evaluator.relinearize_inplace(z, r.relin);
  EXPECT_TRUE(z.on_gpu() && r.relin.on_gpu());
  EXPECT_LT(distance(r.decrypt(z), map(a, a, std::multiplies<std::complex<double>>())), device_tolerance);
  const Ciphertext copy = z;
  EXPECT_TRUE(copy.on_gpu());
  z.to("cpu");
  r.evaluator.negate_inplace(z);
  EXPECT_FALSE(z.on_gpu());
  EXPECT_EQ(gpu.opened, 1);
}

TEST(CompatDevices, TheEnvironmentNamesTheDeviceOfUnmarkedObjects) {
  using halocline_detail::place_named_by;
  EXPECT_EQ(place_named_by(nullptr), "");
  EXPECT_EQ(place_named_by(""), "");
  EXPECT_EQ(place_named_by("cpu"), "");
  const simulated_gpu gpu;
  EXPECT_EQ(place_named_by("cuda:0"), "cuda:0");
  EXPECT_THROW(static_cast<void>(place_named_by("cuda:77")), std::runtime_error);
  try {
    static_cast<void>(place_named_by("disk"));
    FAIL() << "an unknown device was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("HALOCLINE_SEAL_DEVICE: device \"disk\""), std::string::npos);
  }
}

/// What a process does that was started with HALOCLINE_SEAL_DEVICE=cuda:0.
/// @return 0 if unmarked objects are computed with there
int use_default_device() {
  setenv("HALOCLINE_SEAL_DEVICE", "cuda:0", 1);
  const simulated_gpu gpu;
  rig r;
  const slots a = r.values();
  Ciphertext x = r.encrypt(a), z;
  r.evaluator.add(x, x, z);
  setenv("HALOCLINE_SEAL_DEVICE", "disk", 1);  // too late: it is read once
  r.evaluator.negate_inplace(x.to("cpu"));
  if (gpu.opened != 1 || !z.on_gpu() || !x.on_gpu()) return 1;
  return distance(r.decrypt(z), map(a, a, std::plus<std::complex<double>>())) < device_tolerance ? 0 : 2;
}

/// The same with the name of a device that is not there.
int use_unknown_device() {
  setenv("HALOCLINE_SEAL_DEVICE", "disk", 1);
  try {
    const rig r;
  } catch (const std::invalid_argument&) {
    return 0;
  }
  return 1;
}

// In processes of their own, because the variable is read once.
TEST(CompatDevicesDeathTest, TheEnvironmentIsReadOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(use_default_device()), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(use_unknown_device()), testing::ExitedWithCode(0), "");
}

TEST(CompatDevices, WordsTravelWhenTheyAreNeeded) {
  const simulated_gpu gpu;
  rig r;
  const slots a = r.values();
  Ciphertext x = r.encrypt(a), z;
  const std::vector<std::uint64_t> before = words_of(x);
  x.gpu();
  r.evaluator.add(x, x, z);
  EXPECT_TRUE(is_away(z));
  EXPECT_FALSE(is_away(x));
  z.scale() *= 2.0;  // metadata stay on the host
  EXPECT_TRUE(is_away(z));
  EXPECT_LT(distance(r.decrypt(z), a), device_tolerance);
  EXPECT_FALSE(is_away(z));
  r.evaluator.negate_inplace(z);
  EXPECT_TRUE(is_away(z));
  std::stringstream stream;
  z.save(stream);
  EXPECT_FALSE(is_away(z));
  Ciphertext loaded;
  loaded.load(r.context, stream);
  EXPECT_FALSE(loaded.on_gpu());
  EXPECT_EQ(words_of(loaded), words_of(z));
  r.evaluator.negate_inplace(z);
  EXPECT_TRUE(is_away(z));
  ++z.data()[0];  // what the host writes is what counts
  EXPECT_FALSE(is_away(z));
  r.evaluator.negate(z, z);
  const std::uint64_t q = r.context.first_context_data()->parms().coeff_modulus()[0].value();
  std::vector<std::uint64_t> twice = words_of(z);
  EXPECT_EQ(twice[0], (2 * q - 2 * before[0] % q - 1) % q);
  EXPECT_EQ(twice[1], (q - 2 * before[1] % q) % q);
}

// The same integers on both, from a program of all operations.
TEST(CompatDevices, DevicesComputeTheSame) {
  const simulated_gpu gpu;
  rig r(1024, {50, 40, 40, 50});
  const GaloisKeys keys = r.galois();
  const slots a = r.values();
  const Ciphertext host = r.encrypt(a);
  const Plaintext plain = r.encode(a);
  const auto program = [&](Ciphertext x) {
    Ciphertext y;
    r.evaluator.multiply(x, x, y);
    r.evaluator.relinearize_inplace(y, r.relin);
    r.evaluator.rescale_to_next_inplace(y);
    r.evaluator.rotate_vector_inplace(y, -77, keys);
    r.evaluator.complex_conjugate_inplace(y, keys);
    r.evaluator.mod_switch_to_next_inplace(x);
    y.scale() = x.scale();
    r.evaluator.sub_inplace(y, x);
    Plaintext lower;
    r.evaluator.mod_switch_to_next(plain, lower);
    r.evaluator.add_plain_inplace(y, lower);
    return y;
  };
  Ciphertext marked = host;
  marked.gpu();
  const Ciphertext on_host = program(host), on_device = program(marked);
  EXPECT_TRUE(on_device.on_gpu());
  EXPECT_EQ(words_of(on_host), words_of(on_device));
}

TEST(CompatDevices, TransparentResultsOfMarkedObjects) {
  const simulated_gpu gpu;
  rig r;
  Ciphertext x = r.encrypt(r.values()), z;
  x.gpu();
  EXPECT_THROW(r.evaluator.sub(x, x, z), std::logic_error);
  Plaintext zero;
  r.encoder.encode(0.0, 0x1p30, zero);
  EXPECT_THROW(r.evaluator.multiply_plain(x, zero, z), std::logic_error);
}

TEST(CompatDevices, OptionsAndMemory) {
  const simulated_gpu gpu;
  rig r(1024, {50, 40, 50});
  EXPECT_EQ(GetDeviceMemory(r.context, "cuda:0").live_bytes, 0U);
  DeviceOptions options;
  options.policy = "cached";
  options.budget_bytes = std::size_t{64} << 20;
  SetDeviceOptions(r.context, "cuda:0", options);
  options.policy = "nonsense";
  EXPECT_THROW(SetDeviceOptions(r.context, "cuda:0", options), std::invalid_argument);
  EXPECT_THROW(SetDeviceOptions(r.context, "disk", options), std::invalid_argument);
  const slots a = r.values();
  Ciphertext x = r.encrypt(a), z;
  x.gpu();
  StartComputeFrame();
  for (int i = 0; i < 5; ++i) r.evaluator.square(x, z);
  EndComputeFrame();
  WaitForDevice(r.context, "cuda:0");
  const DeviceMemory used = GetDeviceMemory(r.context, "cuda:0");
  EXPECT_GT(used.live_bytes, 5 * 2 * 1024 * sizeof(std::uint64_t));
  EXPECT_GE(used.peak_live_bytes, used.live_bytes);
  z = Ciphertext();
  EXPECT_LT(GetDeviceMemory(r.context, "cuda:0").live_bytes, used.live_bytes);
  options.policy = "resident";
  EXPECT_THROW(SetDeviceOptions(r.context, "cuda:0", options), std::logic_error);
}

TEST(CompatDevices, ASmallBudgetIsAnExceptionNotACrash) {
  const simulated_gpu gpu;
  rig r(1024, {50, 40, 50});
  DeviceOptions options;
  options.budget_bytes = 200000;  // tables alone take 96 KiB
  SetDeviceOptions(r.context, "cuda:0", options);
  Ciphertext x = r.encrypt(r.values());
  const std::vector<std::uint64_t> before = words_of(x);
  x.gpu();
  std::vector<Ciphertext> kept(20);
  EXPECT_THROW(
      {
        for (Ciphertext& each : kept) r.evaluator.square(x, each);
      },
      std::runtime_error);
  EXPECT_EQ(words_of(x), before);
}

TEST(CompatDevices, ADeviceThatFailsToOpenCanBeTriedAgain) {
  simulated_gpu gpu;
  rig r;
  Ciphertext x = r.encrypt(r.values()), z;
  x.gpu();
  gpu.fails = true;
  EXPECT_THROW(r.evaluator.square(x, z), std::runtime_error);
  EXPECT_EQ(z.size(), 0U);
  gpu.fails = false;
  r.evaluator.square(x, z);
  EXPECT_EQ(z.size(), 3U);
}

TEST(CompatThreads, EachThreadHasAQueueAndLeavesItBehind) {
  const simulated_gpu gpu;
  rig r;
  const slots a = r.values();
  Ciphertext x = r.encrypt(a);
  x.gpu();
  for (int round = 0; round < 3; ++round) {
    std::thread([&] {
      Ciphertext z;
      r.evaluator.square(x, z);
    }).join();
  }
  EXPECT_EQ(gpu.opened, 1);  // one after the other: the queue of the first serves all
  std::vector<std::thread> threads;
  std::atomic<int> there = 0;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Ciphertext z;
      r.evaluator.square(x, z);
      ++there;
      while (there < 3) std::this_thread::yield();  // all three at once
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(gpu.opened, 3);
}

// One evaluator, common keys and operands, results of one thread read by another.
TEST(CompatThreads, CommonObjectsGiveEqualResults) {
  rig r(1024, {50, 40, 40, 50});
  const GaloisKeys keys = r.galois();
  const slots a = r.values();
  const Ciphertext x = r.encrypt(a);
  const auto program = [&] {
    Ciphertext y;
    r.evaluator.multiply(x, x, y);
    r.evaluator.relinearize_inplace(y, r.relin);
    r.evaluator.rescale_to_next_inplace(y);
    r.evaluator.rotate_vector_inplace(y, 5, keys);
    return y;
  };
  const Ciphertext expected = program();
  std::vector<Ciphertext> made(4);
  std::vector<std::thread> threads;
  for (Ciphertext& each : made) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) each = program();
    });
  }
  for (std::thread& each : threads) each.join();
  Ciphertext sum;
  r.evaluator.add(made[0], made[1], sum);  // of two other threads' queues
  for (const Ciphertext& each : made) EXPECT_EQ(words_of(each), words_of(expected));
  // Reading and copying one result that is on a device, at once.
  Ciphertext result = program();
  threads.clear();
  std::atomic<int> equal = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Ciphertext copy = result;
      equal += words_of(i % 2 == 0 ? copy : result) == words_of(expected) ? 1 : 0;
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(equal, 4);
}

// Objects may outlive their context, evaluator and thread.
TEST(CompatThreads, ObjectsOutliveWhatMadeThem) {
  Ciphertext z;
  slots a;
  std::vector<std::uint64_t> expected;
  {
    rig r;
    a = r.values();
    const Ciphertext x = r.encrypt(a);
    std::thread([&] { r.evaluator.square(x, z); }).join();
    EXPECT_TRUE(is_away(z));
    Ciphertext again;
    r.evaluator.square(x, again);
    expected = words_of(again);
  }
  EXPECT_TRUE(is_away(z));
  EXPECT_EQ(words_of(z), expected);
}

}  // namespace
}  // namespace seal::test
