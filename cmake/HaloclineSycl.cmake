# SPDX-License-Identifier: Apache-2.0
# The SYCL backend needs nothing of SYCL to be built: its kernels and the bridge to Intel's runtime are texts inside the
# library, which are compiled where the runtime is installed (docs/guides/sycl.md).

set(sycl_folder "${PROJECT_SOURCE_DIR}/cpp/src/backend/sycl")
set(sycl_bridge_texts "${sycl_folder}/bridge/sycl_bridge.cpp" "${sycl_folder}/bridge/bridge_api.hpp")
file(GLOB sycl_kernel_headers CONFIGURE_DEPENDS "${sycl_folder}/kernels/*.hpp")
set(sycl_kernel_texts "${sycl_folder}/kernels/ring.cpp" ${sycl_kernel_headers})
foreach(name arith coefficient_math modulus slot_fft small_stream uniform_source uniform_stream)
  list(APPEND sycl_kernel_texts "${PROJECT_SOURCE_DIR}/cpp/include/halocline/arith/${name}.hpp")
endforeach()

set(sycl_texts "${CMAKE_BINARY_DIR}/sycl/embedded_texts.cpp")
add_custom_command(OUTPUT "${sycl_texts}"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${sycl_texts}" "-DINCLUDE=${PROJECT_SOURCE_DIR}/cpp/include"
    "-DBRIDGE=${sycl_bridge_texts}" "-DKERNELS=${sycl_kernel_texts}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake"
  DEPENDS ${sycl_bridge_texts} ${sycl_kernel_texts} "${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake"
  COMMENT "Embedding the texts of the SYCL backend" VERBATIM)
target_sources(halocline PRIVATE "${sycl_texts}")
