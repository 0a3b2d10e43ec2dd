// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

namespace halocline::backend::cuda {

/// The functions of NCCL that this library calls (its public interface, since version 2.7), found at run
/// time: builds need no NCCL, and machines with one card need none either.
struct nccl_api {
  using communicator = struct ncclComm*;

  int (*comm_init_all)(communicator* out, int count, const int* devices);
  int (*comm_destroy)(communicator);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void* data, std::size_t count, int type, int peer, communicator, cudaStream_t);
  int (*receive)(void* data, std::size_t count, int type, int peer, communicator, cudaStream_t);
  const char* (*error_string)(int);

  static constexpr int bytes_type = 1;  ///< ncclUint8

  /// Throws unless `result` is ncclSuccess. @throws device_error
  void check(int result, std::string_view what) const;
};

/// Loads libnccl.so.2 at the first call.
/// @throws device_error saying how to get it
[[nodiscard]] const nccl_api& nccl();

}  // namespace halocline::backend::cuda
