# SPDX-License-Identifier: Apache-2.0
# CUDA sources: sm_80 and sm_90 machine code, and PTX of sm_90 for cards that come later.

if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # older CMake does not know that nvcc speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

file(GLOB_RECURSE cuda_test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/tests/cuda/*.cu")
add_library(halocline_cuda_tests OBJECT ${cuda_test_sources})
target_include_directories(halocline_cuda_tests PRIVATE "${PROJECT_SOURCE_DIR}/cpp/include")
target_compile_options(halocline_cuda_tests PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")

add_custom_target(halocline_cuda DEPENDS halocline_cuda_tests)
