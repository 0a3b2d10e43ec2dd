# SPDX-License-Identifier: Apache-2.0
# All micro benchmarks in one executable: select with --benchmark_filter.

find_package(benchmark REQUIRED)
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/bench/micro/*.cpp")
if(bench_sources)
  add_executable(halocline_bench ${bench_sources})
  target_include_directories(halocline_bench PRIVATE "${PROJECT_SOURCE_DIR}/cpp/src" "${PROJECT_SOURCE_DIR}/cpp/bench")
  target_link_libraries(halocline_bench PRIVATE halocline halocline_options
    benchmark::benchmark benchmark::benchmark_main)
else()
  message(STATUS "No micro benchmarks to build")
endif()

# Stages of private retrieval, on any device.
add_executable(halocline_retrieval_bench "${PROJECT_SOURCE_DIR}/cpp/bench/retrieval/bench_retrieval.cpp")
target_include_directories(halocline_retrieval_bench PRIVATE "${PROJECT_SOURCE_DIR}/cpp/bench")
target_link_libraries(halocline_retrieval_bench PRIVATE halocline halocline_options halocline_cli11)

# Transforms on a GPU. Carried to machines that have a driver but no toolchain, so it brings its libraries along.
if(HALOCLINE_CUDA)
  file(GLOB ntt_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/bench_ntt_family*.cpp"
    "${PROJECT_SOURCE_DIR}/cpp/bench/cuda/bench_ntt_family*.cu")
  add_executable(halocline_ntt_bench ${ntt_bench_sources})
  target_include_directories(halocline_ntt_bench PRIVATE
    "${PROJECT_SOURCE_DIR}/cpp/src" "${PROJECT_SOURCE_DIR}/cpp/bench")
  target_compile_options(halocline_ntt_bench PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
  target_link_libraries(halocline_ntt_bench PRIVATE halocline halocline_options halocline_cli11 CUDA::cudart_static)
  target_link_options(halocline_ntt_bench PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed)
endif()
