// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"

namespace halocline::circuits {

/// Where the pixels of packed images are. Pixel (y, x) of the image in block b is in slot
///
///     b * block + gap * (y * pitch + x)
///
/// A fresh image has gap 1 and pitch columns; strides widen the gap instead of moving pixels together.
struct image_layout {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t block = 0;  ///< slots of an image, a power of two; slots / block images in a ciphertext
  std::uint32_t pitch = 0;  ///< positions from a row to the next; 0 means `columns`
  std::uint32_t gap = 1;    ///< slots from a pixel to its neighbour

  /// Slot of a pixel within its block.
  [[nodiscard]] std::uint32_t slot(std::uint32_t y, std::uint32_t x) const noexcept {
    return gap * (y * (pitch != 0 ? pitch : columns) + x);
  }
};

/// A plain 2-D convolution (cross-correlation, as in neural networks).
struct convolution_weights {
  std::uint32_t outputs = 0;   ///< channels
  std::uint32_t inputs = 0;    ///< channels
  std::uint32_t kernel = 0;    ///< width and height, odd
  std::vector<double> values;  ///< [output][input][row][column]
  std::vector<double> bias;    ///< for every output, or empty

  /// One weight.
  [[nodiscard]] double at(std::uint32_t output, std::uint32_t input, std::uint32_t row,
                          std::uint32_t column) const {
    return values[((std::size_t{output} * inputs + input) * kernel + row) * kernel + column];
  }
};

/// How a convolution is evaluated.
struct convolution_options {
  std::uint32_t stride = 1;
  transform_options transform;
};

/// Convolution with zero padding of (kernel - 1) / 2, so that stride 1 keeps the size:
///
///     out_o(y, x) = bias_o + sum_i sum_(dy, dx) w[o][i](dy, dx) in_i(stride y + dy, stride x + dx)
///
/// with dy and dx centred at 0, and 0 for pixels outside the image. One ciphertext for each channel. A
/// `transform_grid` with one diagonal for each kernel entry: the weights are 0 where a neighbour lies outside
/// the image, so images never mix, and in all slots that hold no pixel of the result. The rotations of an
/// input serve all outputs. Uses one level. Bound to the context it was made with; immutable.
class convolution {
 public:
  /// @throws invalid_argument for weights or bias of the wrong number, an even kernel, a stride of 0, or a
  ///   layout that does not fit its block; otherwise as `transform_grid` (an output whose weights are all 0
  ///   is refused)
  convolution(ckks::evaluator& eval, const convolution_weights& weights, const image_layout& input,
              const convolution_options& options = {});

  /// One ciphertext for each output channel in `output_layout()`. The bias is added in every slot, pixel or
  /// not; other slots hold 0 besides. Throws as `transform_grid::apply`.
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    std::span<const ckks::ciphertext* const> inputs) const;

  /// Where the pixels of the results are.
  [[nodiscard]] const image_layout& output_layout() const noexcept { return output_; }
  /// The linear maps between the channels.
  [[nodiscard]] const transform_grid& grid() const noexcept { return grid_; }
  /// Rotations whose keys `apply` uses, distinct and ascending.
  [[nodiscard]] std::vector<std::int64_t> required_rotations() const { return grid_.required_rotations(); }
  /// Keys that `apply` uses, ascending by Galois element.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const { return grid_.key_requests(); }

 private:
  image_layout output_;
  std::vector<double> bias_;
  transform_grid grid_;
};

/// Slot values of images in one ciphertext; unused slots are 0.
/// @param images pixels by rows, one vector for each image
/// @throws invalid_argument for more images than slots / block, or one of another size
[[nodiscard]] std::vector<std::complex<double>> pack_images(std::span<const std::vector<double>> images,
                                                            const image_layout& layout, std::uint32_t slots);

/// Inverse of `pack_images`: the real parts of the pixels of the first `count` images.
[[nodiscard]] std::vector<std::vector<double>> unpack_images(std::span<const std::complex<double>> values,
                                                             const image_layout& layout, std::size_t count);

}  // namespace halocline::circuits
