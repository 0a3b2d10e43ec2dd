// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/convolution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::convolution;
using circuits::convolution_options;
using circuits::convolution_weights;
using circuits::image_layout;
using circuits::transform_mode;
using testing::HasSubstr;
using testing::ThrowsMessage;

// As in test_linear_transform.cpp; the weights of an output sum to 2 at most.
constexpr double worst_bits = 25.0;

using images = std::vector<std::vector<double>>;  ///< of one channel

convolution_weights random_weights(const ckks_rig& rig, std::uint32_t outputs, std::uint32_t inputs,
                                   std::uint32_t kernel, std::uint32_t seed) {
  convolution_weights w{outputs, inputs, kernel, {}, {}};
  for (const auto& value : rig.random_values(outputs * inputs * kernel * kernel, seed)) {
    w.values.push_back(2 * value.real() / (inputs * kernel * kernel));
  }
  for (const auto& value : rig.random_values(outputs, seed + 1)) w.bias.push_back(value.real());
  return w;
}

images random_images(const ckks_rig& rig, std::size_t count, const image_layout& layout, std::uint32_t seed) {
  images result;
  for (std::size_t b = 0; b < count; ++b) {
    result.emplace_back();
    for (const auto& value :
         rig.random_values(layout.rows * layout.columns, seed + static_cast<std::uint32_t>(b))) {
      result.back().push_back(value.real());
    }
  }
  return result;
}

/// One output pixel by the definition.
double pixel(const convolution_weights& w, const std::vector<const std::vector<double>*>& inputs, int rows,
             int columns, std::uint32_t o, int y, int x) {
  const int reach = static_cast<int>(w.kernel) / 2;
  double sum = w.bias.empty() ? 0.0 : w.bias[o];
  for (std::uint32_t i = 0; i < w.inputs; ++i) {
    for (int dy = -reach; dy <= reach; ++dy) {
      for (int dx = -reach; dx <= reach; ++dx) {
        const bool inside = y + dy >= 0 && y + dy < rows && x + dx >= 0 && x + dx < columns;
        if (!inside) continue;
        sum += w.at(o, i, static_cast<std::uint32_t>(dy + reach), static_cast<std::uint32_t>(dx + reach)) *
               (*inputs[i])[static_cast<std::size_t>((y + dy) * columns + x + dx)];
      }
    }
  }
  return sum;
}

/// Output channel o of every image.
images reference(const convolution_weights& w, const std::vector<images>& channels, const image_layout& in,
                 const image_layout& out, std::uint32_t stride, std::uint32_t o) {
  images result(channels.front().size());
  for (std::size_t b = 0; b < result.size(); ++b) {
    std::vector<const std::vector<double>*> inputs;
    for (const images& channel : channels) inputs.push_back(&channel[b]);
    for (std::uint32_t y = 0; y < out.rows; ++y) {
      for (std::uint32_t x = 0; x < out.columns; ++x) {
        result[b].push_back(pixel(w, inputs, static_cast<int>(in.rows), static_cast<int>(in.columns), o,
                                  static_cast<int>(stride * y), static_cast<int>(stride * x)));
      }
    }
  }
  return result;
}

double worst_error(const images& a, const images& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b[i].size(); ++k) worst = std::max(worst, std::abs(a[i][k] - b[i][k]));
  }
  return worst;
}

struct convolution_case {
  image_layout layout;
  std::uint32_t outputs;
  std::uint32_t inputs;
  std::uint32_t kernel;
  std::uint32_t stride = 1;
  transform_mode mode = transform_mode::double_hoisted;
};

convolution_options options_for(const convolution_case& c, unsigned level) {
  convolution_options options;
  options.stride = c.stride;
  options.transform.mode = c.mode;
  options.transform.level = level;
  return options;
}

void check(const std::string& preset, const convolution_case& c) {
  ckks_rig& rig = circuit_rig(preset);
  SCOPED_TRACE(preset + " kernel " + std::to_string(c.kernel) + " stride " + std::to_string(c.stride) + " " +
               to_string(c.mode));
  const convolution_weights w = random_weights(rig, c.outputs, c.inputs, c.kernel, 50);
  const convolution layer(rig.eval, w, c.layout, options_for(c, 2));
  exact_keys keys(rig, layer.key_requests());
  const std::size_t count = rig.slots() / c.layout.block;
  std::vector<images> channels;
  std::vector<ckks::ciphertext> encrypted;
  std::vector<const ckks::ciphertext*> inputs;
  encrypted.reserve(c.inputs);
  for (std::uint32_t i = 0; i < c.inputs; ++i) {
    channels.push_back(random_images(rig, count, c.layout, 60 + 100 * i));
    encrypted.push_back(rig.encrypt(circuits::pack_images(channels.back(), c.layout, rig.slots()), 2));
    inputs.push_back(&encrypted.back());
  }
  const std::vector<ckks::ciphertext> outputs = layer.apply(keys.eval, inputs);
  ASSERT_EQ(outputs.size(), c.outputs);
  for (std::uint32_t o = 0; o < c.outputs; ++o) {
    EXPECT_EQ(outputs[o].level, 1u);
    EXPECT_NEAR(outputs[o].scale / rig.parameters().level(1).scale, 1.0, 1e-9);
    const images computed = circuits::unpack_images(rig.decrypt(outputs[o]), layer.output_layout(), count);
    const images expected = reference(w, channels, c.layout, layer.output_layout(), c.stride, o);
    EXPECT_LT(worst_error(computed, expected), std::exp2(-worst_bits));
  }
}

TEST(Convolution, MatchesTheDefinition) {
  for (const char* preset : {"test-n10-d3", "test-n10-d3-w64"}) {
    check(preset, {{8, 8, 64}, 4, 1, 3});
    check(preset, {{8, 8, 64}, 2, 3, 3});
    check(preset, {{5, 7, 64}, 2, 2, 3});
    check(preset, {{8, 8, 64}, 1, 1, 5});
    check(preset, {{8, 8, 64}, 3, 2, 1});
    check(preset, {{16, 32, 512}, 1, 2, 3});  // one block fills all slots
    check(preset, {{2, 2, 4}, 2, 1, 5});      // the kernel is larger than the image
  }
}

TEST(Convolution, AllModes) {
  for (const transform_mode mode : {transform_mode::naive, transform_mode::bsgs, transform_mode::small_key}) {
    check("test-n10-d3", {{8, 8, 64}, 2, 2, 3, 1, mode});
  }
}

TEST(Convolution, StridesWidenTheGap) {
  const image_layout fresh{8, 8, 64};
  check("test-n10-d3", {fresh, 2, 1, 3, 2});
  check("test-n10-d3", {{9, 7, 64}, 1, 2, 3, 2});
  const image_layout half{4, 4, 64, 8, 2};
  EXPECT_EQ(half.slot(1, 2), 2u * (8 + 2));
  check("test-n10-d3", {half, 2, 2, 3, 1});
  check("test-n10-d3", {half, 1, 1, 3, 2});
}

TEST(Convolution, RotationsOfAnInputServeAllOutputs) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  convolution_case c{{8, 8, 64}, 4, 1, 3};
  c.mode = transform_mode::naive;
  const convolution layer(rig.eval, random_weights(rig, 4, 1, 3, 1), c.layout, options_for(c, 2));
  EXPECT_EQ(layer.grid().cost().key_switches, 8u);
  EXPECT_EQ(layer.grid().cost().decompositions, 1u);
  EXPECT_EQ(layer.grid().cost().plaintext_products, 36u);
  EXPECT_THAT(layer.required_rotations(), testing::ElementsAre(-9, -8, -7, -1, 1, 7, 8, 9));
}

TEST(Convolution, AsksForExactlyTheKeysItStates) {
  for (const transform_mode mode : {transform_mode::double_hoisted, transform_mode::small_key}) {
    ghost_rig ghost("test-n10-d3");
    const convolution_case c{{8, 8, 64}, 3, 2, 3, 1, mode};
    const convolution layer(ghost.eval, random_weights(circuit_rig("test-n10-d3"), 3, 2, 3, 1), c.layout,
                            options_for(c, 2));
    const ckks::ciphertext x = ghost.ghost_input(2, 512);
    const ckks::ciphertext* const inputs[] = {&x, &x};
    (void)layer.apply(ghost.eval, inputs);
    EXPECT_EQ(ghost.keys.requests(), layer.key_requests());
  }
}

TEST(ConvolutionErrors, SayWhatIsWrong) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const auto make = [&](const convolution_weights& w, const image_layout& layout, std::uint32_t stride = 1) {
    convolution_options options;
    options.stride = stride;
    convolution(rig.eval, w, layout, options);
  };
  const convolution_weights good = random_weights(rig, 1, 1, 3, 1);
  convolution_weights bad = good;
  bad.values.pop_back();
  EXPECT_THAT([&] { make(bad, {8, 8, 64}); }, ThrowsMessage<invalid_argument>(HasSubstr("8 weights")));
  EXPECT_THAT(
      [&] {
        make({1, 1, 2, std::vector<double>(4, 1.0), {}}, {8, 8, 64});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("even")));
  bad = good;
  bad.bias = {1, 2};
  EXPECT_THAT([&] { make(bad, {8, 8, 64}); }, ThrowsMessage<invalid_argument>(HasSubstr("2 biases")));
  EXPECT_THAT([&] { make(good, {8, 8, 32}); }, ThrowsMessage<invalid_argument>(HasSubstr("slot 63")));
  EXPECT_THAT([&] { make(good, {8, 8, 100}); }, ThrowsMessage<invalid_argument>(HasSubstr("power of two")));
  EXPECT_THAT([&] { make(good, {8, 8, 64, 4}); }, ThrowsMessage<invalid_argument>(HasSubstr("overlap")));
  EXPECT_THAT([&] { make(good, {8, 8, 64}, 0); }, ThrowsMessage<invalid_argument>(HasSubstr("stride 0")));
  EXPECT_THAT(
      [&] {
        (void)circuits::pack_images(images{{1.0}}, {8, 8, 64}, 512);
      },
      ThrowsMessage<invalid_argument>(HasSubstr("1 pixels")));
  EXPECT_THAT(
      [&] {
        (void)circuits::unpack_images(complex_vector(512), {8, 8, 64}, 9);
      },
      ThrowsMessage<invalid_argument>(HasSubstr("9 images")));
}

}  // namespace
}  // namespace halocline::test
