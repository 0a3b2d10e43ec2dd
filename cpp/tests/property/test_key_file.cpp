// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/key_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/ckks/precision.hpp"
#include "halocline/io/secret_key_file.hpp"
#include "halocline/params/presets.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using complex_vector = std::vector<std::complex<double>>;

class FilesBetweenParties : public ::testing::TestWithParam<const char*> {
 protected:
  FilesBetweenParties() : parameters_(params::preset(GetParam())) {}

  [[nodiscard]] const params::parameters& parameters() const { return parameters_; }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_ / name; }

  [[nodiscard]] complex_vector values() const {
    complex_vector out(parameters_.slots());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = std::polar(1.0, 0.37 * static_cast<double>(i));
    }
    return out;
  }

  /// What the client leaves on disk: secret key, evaluation keys, a ciphertext for `level`.
  void play_client(unsigned level, bool seeded, bool use_public_key) const {
    ckks::client client(parameters_);
    save_secret_key(file("secret"), client.context(), client.secret_key());
    ckks::key_selection selection;
    selection.rotations = {1};
    save(file("keys"), client.context(), client.make_keys(selection, seeded));
    ckks::encrypt_options options;
    options.level = level;
    options.use_public_key = use_public_key;
    save(file("input"), client.context(), client.encrypt(values(), options));
  }

  /// rotate(x * x, 1) from files, with keys read at `level` only.
  void play_engine(unsigned level) const {
    ckks::engine engine(parameters_);
    const key_bundle_reader keys(file("keys"), engine.context());
    for (const ckks::key_request& key : keys.list()) {
      engine.add_key(keys.load(key.galois_element, level));
    }
    const ckks::ciphertext x = load_ciphertext(file("input"), engine.context());
    ckks::evaluator& evaluate = engine.evaluator();
    save(file("output"), engine.context(), evaluate.rotate(evaluate.multiply(x, x), 1));
  }

  [[nodiscard]] complex_vector play_owner() const {
    const auto ctx = ckks::make_context(parameters_, backend::make_backend("cpu"));
    ckks::client client(ctx, load_secret_key(file("secret"), *ctx));
    return client.decrypt(load_ciphertext(file("output"), *ctx));
  }

 private:
  test::temporary_folder folder_;
  params::parameters parameters_;
};

// A client, an engine and the owner of the secret key that share nothing but files.
TEST_P(FilesBetweenParties, ComputeWhatOnePartyWould) {
  complex_vector expected = values();
  for (auto& value : expected) value *= value;
  std::rotate(expected.begin(), expected.begin() + 1, expected.end());
  for (const bool seeded : {false, true}) {
    for (const unsigned level : {1U, parameters().max_level()}) {
      play_client(level, seeded, seeded);
      play_engine(level);
      EXPECT_GT(ckks::measure_precision(play_owner(), expected).mean_bits, 15.0)
          << "level " << level << " seeded " << seeded;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, FilesBetweenParties, ::testing::Values("test-n10-d3", "test-n10-d3-w64"));

}  // namespace
}  // namespace halocline::io
