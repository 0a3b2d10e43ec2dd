// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/device/launcher.hpp"
#include "backend/cuda/device/resolve.hpp"
#include "backend/op_table.hpp"

namespace halocline::backend::cuda {

/// Where the batches of one step run, for one word.
template <typename WordT>
struct executor {
  launcher launch;
  resolver<WordT> resolve;

  executor(device_context& device, const ring_tables& ring, const memory::access& at, op_kind op)
      : launch(device, to_string(op)), resolve(ring, at) {}
};

// What the backend has. Each family is listed, for both words, in the file named behind it, next to its
// kernels.
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> elementwise_operations();  // elementwise/exec_elementwise.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> matrix_operations();  // elementwise/exec_matrix.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> ntt_operations();  // ntt/exec_ntt.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> reduced_operations();  // ntt/exec_reduced.cu, part of the former
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> convert_operations();  // convert/exec_convert.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> key_operations();  // key/exec_key.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> key_dot_operations();  // key/exec_key_dot.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> stream_operations();  // stream/exec_sample.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> client_operations();  // client/exec_client.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> slot_operations();  // client/exec_slots.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> retrieval_operations();  // retrieval/exec_retrieval.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> fused_retrieval_operations();  // retrieval/exec_retrieval_fused.cu
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> tree_retrieval_operations();  // retrieval/exec_retrieval_tree.cu

/// All of them.
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> all_operations() {
  return op_table<executor<WordT>>{
      elementwise_operations<WordT>(),
      ntt_operations<WordT>(),
      convert_operations<WordT>(),
      key_operations<WordT>(),
      key_dot_operations<WordT>(),
      stream_operations<WordT>(),
      client_operations<WordT>(),
      matrix_operations<WordT>(),
      slot_operations<WordT>(),
      retrieval_operations<WordT>(),
      fused_retrieval_operations<WordT>(),
      tree_retrieval_operations<WordT>(),
  };
}

}  // namespace halocline::backend::cuda
