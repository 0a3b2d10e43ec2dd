// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/capability.hpp"

#include <array>

namespace halocline::backend {

std::string_view to_string(op_kind op) noexcept {
  constexpr std::array<std::string_view, op_kind_count> names{"ntt",
                                                              "intt",
                                                              "add",
                                                              "sub",
                                                              "negate",
                                                              "multiply",
                                                              "multiply_add",
                                                              "dot",
                                                              "tensor",
                                                              "scalar_multiply",
                                                              "scalar_add",
                                                              "linear_combine",
                                                              "ntt_linear_combine",
                                                              "automorphism",
                                                              "base_convert",
                                                              "key_multiply_accumulate",
                                                              "encode_expand",
                                                              "sample_uniform",
                                                              "sample_small",
                                                              "slot_transform",
                                                              "round_coefficients",
                                                              "lift",
                                                              "copy",
                                                              "set_zero",
                                                              "upload",
                                                              "download"};
  return names[static_cast<std::size_t>(op)];
}

}  // namespace halocline::backend
