# SPDX-License-Identifier: Apache-2.0
# CUDA backend: cpp/src/backend/cuda/** joins the library. sm_80 and sm_90 machine code, and PTX of sm_90 for cards
# that come later; HALOCLINE_CUDA_ARCHS chooses others ("90" while developing).

if(NOT CMAKE_CUDA_COMPILER)
  find_program(halocline_nvcc nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
  if(NOT halocline_nvcc)
    message(FATAL_ERROR "nvcc not found; `make cuda` says how to get it")
  endif()
  set(CMAKE_CUDA_COMPILER "${halocline_nvcc}" CACHE FILEPATH "CUDA compiler")
endif()
set(HALOCLINE_CUDA_ARCHS "80-real;90" CACHE STRING "GPU architectures, as CMAKE_CUDA_ARCHITECTURES")
set(CMAKE_CUDA_ARCHITECTURES "${HALOCLINE_CUDA_ARCHS}")
# The library target exists already, so it does not take the variable.
set_target_properties(halocline PROPERTIES CUDA_ARCHITECTURES "${HALOCLINE_CUDA_ARCHS}")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
if(HALOCLINE_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # older CMake does not know that nvcc speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit 13.0 REQUIRED)

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/cpp/src/backend/cuda/*.cpp" "${PROJECT_SOURCE_DIR}/cpp/src/backend/cuda/*.cu")
# Matrix instructions of warpgroups exist on compute capability 9.0 and nowhere else: their files are compiled for that
# alone, and chosen at run time.
set(cuda_90a_sources ${cuda_sources})
list(FILTER cuda_90a_sources INCLUDE REGEX "_sm90a\\.cu$")
list(FILTER cuda_sources EXCLUDE REGEX "_sm90a\\.cu$")
add_library(halocline_cuda_90a OBJECT ${cuda_90a_sources})
set_target_properties(halocline_cuda_90a PROPERTIES CUDA_ARCHITECTURES "90a-real" POSITION_INDEPENDENT_CODE ON)
target_include_directories(halocline_cuda_90a PRIVATE
  "${PROJECT_SOURCE_DIR}/cpp/include" "${PROJECT_SOURCE_DIR}/cpp/src")
target_compile_options(halocline_cuda_90a PRIVATE "--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra")
target_link_libraries(halocline_cuda_90a PRIVATE CUDA::cudart_static)
target_sources(halocline PRIVATE ${cuda_sources} $<TARGET_OBJECTS:halocline_cuda_90a>)
set_target_properties(halocline PROPERTIES CUDA_ARCHITECTURES "${HALOCLINE_CUDA_ARCHS}")  # made before them
target_link_libraries(halocline PRIVATE CUDA::cudart_static)
target_compile_options(halocline PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>")
# Every source that asks for it: without it a file compiles, and does without GPUs.
file(GLOB_RECURSE cuda_users CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/src/*.cpp")
foreach(source ${cuda_users})
  file(STRINGS "${source}" asks REGEX "HALOCLINE_HAS_CUDA" LIMIT_COUNT 1)
  if(asks)
    set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS HALOCLINE_HAS_CUDA)
  endif()
endforeach()

# Shared headers must compile for the device too.
file(GLOB_RECURSE cuda_test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/tests/cuda/*.cu")
add_library(halocline_cuda_tests OBJECT ${cuda_test_sources})
target_include_directories(halocline_cuda_tests PRIVATE "${PROJECT_SOURCE_DIR}/cpp/include")
target_compile_options(halocline_cuda_tests PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")

# Programs for GPUs: `halocline bench ratio` runs the first one, the other one times single operations.
if(HALOCLINE_BENCH)
  file(GLOB ratio_sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/ratio*.cpp" "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/ratio*.cu")
  add_executable(halocline_bench_ratio ${ratio_sources})
  target_include_directories(halocline_bench_ratio PRIVATE
    "${PROJECT_SOURCE_DIR}/cpp/src" "${PROJECT_SOURCE_DIR}/cpp/bench")
  target_link_libraries(halocline_bench_ratio PRIVATE halocline halocline_cli11 CUDA::cudart_static)

  add_executable(halocline_kernel_bench
    "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/bench_kernels.cpp" "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/bench_retrieval.cpp"
    "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/bench_retrieval_levels.cpp")
  target_include_directories(halocline_kernel_bench PRIVATE
    "${PROJECT_SOURCE_DIR}/cpp/src" "${PROJECT_SOURCE_DIR}/cpp/bench")
  target_link_libraries(halocline_kernel_bench PRIVATE halocline halocline_options halocline_cli11 CUDA::cudart_static)
  target_link_options(halocline_kernel_bench PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed)
endif()
