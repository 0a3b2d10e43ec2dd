# SPDX-License-Identifier: Apache-2.0
# `cmake --install build/cpu --component development --prefix DIR`: public headers, library, a package configuration
# and a pkg-config file, so that other projects can say find_package(halocline) and link halocline::halocline, or
# compile with `pkg-config --cflags --libs halocline`. The prefix may be moved afterwards.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/halocline")
install(TARGETS halocline EXPORT halocline-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(EXPORT halocline-targets NAMESPACE halocline:: DESTINATION "${package_dir}" COMPONENT development)

# The other headers below cpp/include are shared by the layers of the library itself; tools/check_layers.py checks that
# no public header needs one of them.
set(public_headers "${PROJECT_SOURCE_DIR}/cpp/include/public_headers.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${public_headers}")
file(STRINGS "${public_headers}" headers)
foreach(header IN LISTS headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/cpp/include/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}"
    COMPONENT development)
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/halocline-config.cmake.in"
  "${CMAKE_BINARY_DIR}/halocline-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/halocline-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/halocline-config.cmake" "${CMAKE_BINARY_DIR}/halocline-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

# The headers and the package for programs of SEAL, in folders of their own: find_package(HaloclineSeal).
if(HALOCLINE_SEAL)
  set(seal_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/HaloclineSeal")
  install(TARGETS HaloclineSeal EXPORT HaloclineSealTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  install(EXPORT HaloclineSealTargets DESTINATION "${seal_package_dir}" COMPONENT development)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/cpp/compat/seal/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/halocline_seal"
    COMPONENT development FILES_MATCHING PATTERN "*.h")
  install(FILES "${halocline_seal_generated}/seal/util/config.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/halocline_seal/seal/util" COMPONENT development)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/HaloclineSealConfig.cmake.in"
    "${CMAKE_BINARY_DIR}/HaloclineSealConfig.cmake" INSTALL_DESTINATION "${seal_package_dir}")
  # The version is that of this library; the interface is that of SEAL_VERSION in seal/version.h.
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/HaloclineSealConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_BINARY_DIR}/HaloclineSealConfig.cmake" "${CMAKE_BINARY_DIR}/HaloclineSealConfigVersion.cmake"
    DESTINATION "${seal_package_dir}" COMPONENT development)
endif()

# The library is an archive, so what it needs is always linked. Paths are relative to the file itself.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(pc_requires "libhwy >= 1.0.3, libsodium >= 1.0.18, libxxhash >= 0.8")
if(uring_FOUND)
  string(APPEND pc_requires ", liburing >= 2.0")
endif()
if(curl_FOUND)
  string(APPEND pc_requires ", libcurl >= 7.85")
endif()
if(zlib_FOUND)
  string(APPEND pc_requires ", zlib")
endif()
if(zstd_FOUND)
  string(APPEND pc_requires ", libzstd")
endif()
set(pc_libs "${CMAKE_THREAD_LIBS_INIT}")
if(HALOCLINE_CUDA)
  string(APPEND pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/halocline.pc.in" "${CMAKE_BINARY_DIR}/halocline.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/halocline.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)
