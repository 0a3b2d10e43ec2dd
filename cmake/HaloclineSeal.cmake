# SPDX-License-Identifier: Apache-2.0
# Headers `seal/seal.h` over this library, for programs written for Microsoft SEAL 4.x: target HaloclineSeal.
# They are installed in a folder of their own, because SEAL's have the same names.

file(GLOB_RECURSE halocline_seal_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/compat/seal/src/*.cpp")
add_library(HaloclineSeal STATIC ${halocline_seal_sources})
add_library(HaloclineSeal::seal ALIAS HaloclineSeal)
# Programs of SEAL may be C++17: the headers are, and do not show the library behind them.
target_compile_features(HaloclineSeal PUBLIC cxx_std_17 PRIVATE cxx_std_20)
target_include_directories(HaloclineSeal
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/cpp/compat/seal/include>" "$<INSTALL_INTERFACE:include/halocline_seal>"
  PRIVATE "${PROJECT_SOURCE_DIR}/cpp/compat/seal/src" "${PROJECT_SOURCE_DIR}/cpp/src")
target_link_libraries(HaloclineSeal PRIVATE halocline::halocline PkgConfig::sodium "$<BUILD_INTERFACE:halocline_options>")
# What SEAL's headers say about compressions, which is a property of the library.
foreach(packer zlib zstd)
  if(${packer}_FOUND)
    string(TOUPPER "${packer}" upper)
    target_compile_definitions(HaloclineSeal PUBLIC "SEAL_USE_${upper}")
  endif()
endforeach()
