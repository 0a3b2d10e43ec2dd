// SPDX-License-Identifier: Apache-2.0
// Laws of encoding for random shapes: round trip, linearity, and agreement of the compact form.
#include "halocline/ckks/encoder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/precision.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using complex_vector = std::vector<std::complex<double>>;

/// A random choice of everything that encoding depends on.
struct encoding_case {
  encoding_case(const params::parameters& parameters, std::uint32_t seed) : random(seed) {
    level = static_cast<unsigned>(random() % (parameters.max_level() + 1));
    slots = 1U << (random() % (parameters.log_n()));
    count = 1 + static_cast<std::uint32_t>(random() % slots);
    magnitude = std::exp2(uniform(-20.0, 10.0));
    // Leave a bit of room for the modulus, and nothing to be gained by scales below a few bits.
    const double most = std::min(110.0, parameters.level(level).log2_modulus - 3.0) - std::log2(magnitude);
    scale = std::exp2(uniform(5.0, most));
    std::ostringstream out;
    out << "seed " << seed << ": level " << level << ", " << count << " of " << slots << " slots, magnitude "
        << magnitude << ", scale 2^" << std::log2(scale);
    name = out.str();
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  complex_vector values() {
    complex_vector result(count);
    for (auto& value : result) value = {uniform(-magnitude, magnitude), uniform(-magnitude, magnitude)};
    return result;
  }
  /// Largest error of a slot part: rounding of 2 slots coefficients (six deviations), and the transform's
  /// precision.
  [[nodiscard]] double bound() const { return 6 * std::sqrt(slots / 12.0 + 1) / scale + magnitude * 0x1p-44; }

  std::mt19937_64 random;
  unsigned level = 0;
  std::uint32_t slots = 1;
  std::uint32_t count = 1;
  double magnitude = 1.0;
  double scale = 1.0;
  std::string name;
};

class EncodingLaw : public ::testing::TestWithParam<std::tuple<const char*, unsigned>> {
 protected:
  std::shared_ptr<context> ctx =
      test::make_test_context(test::with_generator(std::get<0>(GetParam()), std::get<1>(GetParam())));
  encoder encode{*ctx};
};

TEST_P(EncodingLaw, DecodeInvertsEncode) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    encoding_case each(ctx->parameters(), seed);
    complex_vector values = each.values();
    const complex_vector back = encode.decode(encode.encode(values, each.level, each.scale, each.slots));
    values.resize(each.slots);
    ASSERT_LT(measure_precision(back, values).max_error, each.bound()) << each.name;
  }
}

TEST_P(EncodingLaw, SumOfPlaintextsEncodesTheSum) {
  for (std::uint32_t seed = 200; seed < 260; ++seed) {
    encoding_case each(ctx->parameters(), seed);
    complex_vector a = each.values();
    const complex_vector b = each.values();
    const plaintext left = encode.encode(a, each.level, each.scale, each.slots);
    const plaintext right = encode.encode(b, each.level, each.scale, each.slots);
    const backend::binary_job job{left.value.chain(), left.value.chain(), right.value.chain()};
    ctx->device().add(ctx->tables(), {&job, 1});
    for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
    a.resize(each.slots);
    ASSERT_LT(measure_precision(encode.decode(left), a).max_error, 2 * each.bound()) << each.name;
  }
}

TEST_P(EncodingLaw, CompactAndDirectFormsAgree) {
  for (std::uint32_t seed = 300; seed < 360; ++seed) {
    encoding_case each(ctx->parameters(), seed);
    const complex_vector values = each.values();
    const double scale = std::min(each.scale, 0x1p60 / each.magnitude);
    const plaintext direct = encode.encode(values, each.level, scale, each.slots);
    const plaintext expanded = encode.expand(encode.encode_compact(values, scale, each.slots), each.level);
    ASSERT_EQ(test::words_of(*ctx, direct.value.chain()), test::words_of(*ctx, expanded.value.chain()))
        << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(encoder, EncodingLaw,
                         ::testing::Combine(::testing::Values("test-n10-d3", "test-n10-d3-w64",
                                                              "test-n11-d8"),
                                            ::testing::Values(3, 5)));

}  // namespace
}  // namespace halocline::ckks
