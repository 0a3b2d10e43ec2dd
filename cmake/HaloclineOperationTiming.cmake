# SPDX-License-Identifier: Apache-2.0
# Times of single operations, for the extension module (`halocline bench operations`, `bench ratio`) and its tests. Not a
# part of the library, and not installed with it.

file(GLOB operation_timing_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/bench/operations/*.cpp")
add_library(halocline_operation_timing STATIC ${operation_timing_sources})
target_include_directories(halocline_operation_timing PUBLIC "${PROJECT_SOURCE_DIR}/cpp/bench")
target_link_libraries(halocline_operation_timing PRIVATE halocline halocline_options)
set_target_properties(halocline_operation_timing PROPERTIES POSITION_INDEPENDENT_CODE ON)
