// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/device_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

using memory::sim::device_by_name;
using memory::sim::device_from_json;
using memory::sim::device_to_json;

std::string replaced(std::string source, const std::string& what, const std::string& by) {
  const std::size_t at = source.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return source.replace(at, what.size(), by);
}

TEST(DeviceJson, ReadsBackWhatItWrote) {
  for (const std::string& name : memory::sim::device_names()) {
    EXPECT_EQ(device_from_json(device_to_json(device_by_name(name))), device_by_name(name)) << name;
  }
}

TEST(DeviceJson, NamesWhatIsWrong) {
  const std::string good = device_to_json(device_by_name("h200"));
  const auto message = [&](const std::string& what, const std::string& by) {
    return message_of<corrupt_data>([&] { (void)device_from_json(replaced(good, what, by)); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(message("\"schema\": 1", "\"schema\": 2"), HasSubstr("schema 2"));
  EXPECT_THAT(message("\"launch_us\"", "\"launch_ms\""), HasSubstr("'launch_ms' is unknown"));
  EXPECT_THAT(
      message("\"block_bytes\": {\n      \"value\": 2097152", "\"block_bytes\": {\n      \"value\": -1"),
      HasSubstr("block_bytes"));
  EXPECT_THAT(message("\"name\": \"h200\"", "\"name\": 7"), HasSubstr("name"));
  EXPECT_THAT(message("\"factor\"", "\"factors\""), HasSubstr("'factors' is unknown"));
  EXPECT_THAT(message("\"other_operation\"", "\"other\""), HasSubstr("'other' is unknown"));
}

TEST(DeviceJson, NeedsEveryConstantAndItsSource) {
  EXPECT_THAT(
      message_of<corrupt_data>([] {
        (void)device_from_json(
            R"({"schema": 1, "name": "x", "constants": {}, "operations": {}, "other_operation": {}})");
      }),
      testing::HasSubstr("'capacity_bytes' is missing"));
  const std::string good = device_to_json(device_by_name("h200"));
  EXPECT_THAT(
      message_of<corrupt_data>([&] { (void)device_from_json(replaced(good, "data sheet: 141 GB", "")); }),
      testing::HasSubstr("has no source"));
  EXPECT_THROW((void)device_from_json(""), corrupt_data);
  EXPECT_THROW((void)device_from_json("[]"), corrupt_data);
}

}  // namespace
}  // namespace halocline::test
