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
