// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/convolution.hpp"

#include <bit>
#include <utility>

#include "circuits/block_pattern.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using complex = std::complex<double>;

void require_layout(const image_layout& layout, std::uint32_t slots) {
  HALOCLINE_EXPECTS(layout.rows > 0 && layout.columns > 0 && layout.gap > 0, invalid_argument,
                    "image layout: ", layout.rows, " x ", layout.columns, " pixels with gap ", layout.gap,
                    "; all must be positive");
  HALOCLINE_EXPECTS(std::has_single_bit(layout.block) && layout.block <= slots, invalid_argument,
                    "image layout: block of ", layout.block, " slots; expected a power of two up to ", slots);
  HALOCLINE_EXPECTS(layout.pitch == 0 || layout.pitch >= layout.columns, invalid_argument,
                    "image layout: pitch ", layout.pitch, " for ", layout.columns,
                    " columns; rows would overlap");
  const std::uint64_t pitch = layout.pitch != 0 ? layout.pitch : layout.columns;
  const std::uint64_t last = layout.gap * ((layout.rows - 1) * pitch + layout.columns - 1);
  HALOCLINE_EXPECTS(last < layout.block, invalid_argument, "image layout: the last pixel is in slot ", last,
                    " of a block of ", layout.block, "; take a larger block");
}

void require_weights(const convolution_weights& weights, std::uint32_t stride) {
  const std::size_t wanted = std::size_t{weights.outputs} * weights.inputs * weights.kernel * weights.kernel;
  HALOCLINE_EXPECTS(wanted > 0 && weights.values.size() == wanted, invalid_argument,
                    "convolution: ", weights.values.size(), " weights; expected ", weights.outputs, " x ",
                    weights.inputs, " x ", weights.kernel, " x ", weights.kernel);
  HALOCLINE_EXPECTS(weights.kernel % 2 == 1, invalid_argument, "convolution: kernel ", weights.kernel,
                    " is even; pad it with zeros to an odd size");
  HALOCLINE_EXPECTS(weights.bias.empty() || weights.bias.size() == weights.outputs, invalid_argument,
                    "convolution: ", weights.bias.size(), " biases for ", weights.outputs, " outputs");
  HALOCLINE_EXPECTS(stride > 0, invalid_argument, "convolution: stride 0; expected at least 1");
}

image_layout strided(const image_layout& input, std::uint32_t stride) {
  image_layout output = input;
  output.rows = (input.rows + stride - 1) / stride;
  output.columns = (input.columns + stride - 1) / stride;
  output.pitch = input.pitch != 0 ? input.pitch : input.columns;
  output.gap = input.gap * stride;
  return output;
}

/// One output and input channel: for every kernel entry the weight at the output pixels whose neighbour is
/// inside.
diagonal_map cell_diagonals(const convolution_weights& weights, std::uint32_t o, std::uint32_t i,
                            const image_layout& input, std::uint32_t stride, std::uint32_t slots) {
  const image_layout output = strided(input, stride);
  const std::int64_t reach = weights.kernel / 2;
  detail::block_patterns patterns;
  for (std::uint32_t y = 0; y < output.rows; ++y) {
    for (std::uint32_t x = 0; x < output.columns; ++x) {
      const std::uint32_t to = output.slot(y, x);
      for (std::uint32_t k = 0; k < weights.kernel * weights.kernel; ++k) {
        const std::int64_t row = std::int64_t{stride} * y + k / weights.kernel - reach;
        const std::int64_t column = std::int64_t{stride} * x + k % weights.kernel - reach;
        const double weight = weights.at(o, i, k / weights.kernel, k % weights.kernel);
        const bool inside = row >= 0 && row < input.rows && column >= 0 && column < input.columns;
        if (!inside || weight == 0.0) continue;
        const std::uint32_t from =
            input.slot(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column));
        std::vector<complex>& pattern = patterns[static_cast<int>(from) - static_cast<int>(to)];
        pattern.resize(input.block);
        pattern[to] = weight;
      }
    }
  }
  return detail::spread(patterns, input.block, slots);
}

transform_grid make_grid(ckks::evaluator& eval, const convolution_weights& weights, const image_layout& input,
                         const convolution_options& options) {
  const std::uint32_t slots =
      options.transform.slots.value_or(static_cast<std::uint32_t>(eval.context().parameters().slots()));
  require_layout(input, slots);
  require_weights(weights, options.stride);
  std::vector<std::vector<diagonal_map>> cells(weights.outputs);
  for (std::uint32_t o = 0; o < weights.outputs; ++o) {
    for (std::uint32_t i = 0; i < weights.inputs; ++i) {
      cells[o].push_back(cell_diagonals(weights, o, i, input, options.stride, slots));
    }
  }
  return {eval, cells, options.transform};
}

}  // namespace

convolution::convolution(ckks::evaluator& eval, const convolution_weights& weights, const image_layout& input,
                         const convolution_options& options)
    : bias_(weights.bias), grid_(make_grid(eval, weights, input, options)) {
  output_ = strided(input, options.stride);
}

std::vector<ckks::ciphertext> convolution::apply(ckks::evaluator& eval,
                                                 std::span<const ckks::ciphertext* const> inputs) const {
  std::vector<ckks::ciphertext> outputs = grid_.apply(eval, inputs);
  for (std::size_t o = 0; o < bias_.size(); ++o) {
    if (bias_[o] != 0.0) outputs[o] = eval.add_constant(outputs[o], bias_[o]);
  }
  return outputs;
}

std::vector<complex> pack_images(std::span<const std::vector<double>> images, const image_layout& layout,
                                 std::uint32_t slots) {
  require_layout(layout, slots);
  HALOCLINE_EXPECTS(images.size() <= slots / layout.block, invalid_argument, "pack_images: ", images.size(),
                    " images; ", slots, " slots hold ", slots / layout.block);
  std::vector<complex> values(slots);
  for (std::size_t b = 0; b < images.size(); ++b) {
    HALOCLINE_EXPECTS(images[b].size() == std::size_t{layout.rows} * layout.columns, invalid_argument,
                      "pack_images: image ", b, " has ", images[b].size(), " pixels; expected ", layout.rows,
                      " x ", layout.columns);
    for (std::uint32_t y = 0; y < layout.rows; ++y) {
      for (std::uint32_t x = 0; x < layout.columns; ++x) {
        values[b * layout.block + layout.slot(y, x)] = images[b][std::size_t{y} * layout.columns + x];
      }
    }
  }
  return values;
}

std::vector<std::vector<double>> unpack_images(std::span<const complex> values, const image_layout& layout,
                                               std::size_t count) {
  require_layout(layout, static_cast<std::uint32_t>(values.size()));
  HALOCLINE_EXPECTS(count <= values.size() / layout.block, invalid_argument, "unpack_images: ", count,
                    " images; ", values.size(), " slots hold ", values.size() / layout.block);
  std::vector<std::vector<double>> images(count);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::uint32_t y = 0; y < layout.rows; ++y) {
      for (std::uint32_t x = 0; x < layout.columns; ++x) {
        images[b].push_back(values[b * layout.block + layout.slot(y, x)].real());
      }
    }
  }
  return images;
}

}  // namespace halocline::circuits
