# SPDX-License-Identifier: Apache-2.0
# `cmake --install build/cpu --component development --prefix DIR`: headers, library and a package configuration, so
# that other projects can say find_package(halocline) and link halocline::halocline.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/halocline")
install(TARGETS halocline EXPORT halocline-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(EXPORT halocline-targets NAMESPACE halocline:: DESTINATION "${package_dir}" COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cpp/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/halocline-config.cmake.in"
  "${CMAKE_BINARY_DIR}/halocline-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/halocline-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/halocline-config.cmake" "${CMAKE_BINARY_DIR}/halocline-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)
