# SPDX-License-Identifier: Apache-2.0
# Installs the library, moves the prefix, and builds and runs a program against it twice: with find_package, and with
# the flags of pkg-config. `cmake -D BUILD=... -D SOURCE=... -D WORK=... -D CXX=... -D LIBDIR=... -D SEAL=ON
# -P run.cmake`

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --component development --prefix "${WORK}/installed")
file(RENAME "${WORK}/installed" "${WORK}/moved")
set(prefix "${WORK}/moved")

# What is installed is what is public, and compiles alone.
file(STRINGS "${SOURCE}/cpp/include/public_headers.txt" expected)
file(GLOB_RECURSE found RELATIVE "${prefix}/include" "${prefix}/include/*")
if(SEAL)
  file(GLOB_RECURSE seal_headers RELATIVE "${SOURCE}/cpp/compat/seal/include" "${SOURCE}/cpp/compat/seal/include/*.h")
  list(TRANSFORM seal_headers PREPEND "halocline_seal/")
  list(APPEND expected ${seal_headers} halocline_seal/seal/util/config.h)
endif()
list(SORT expected)
list(SORT found)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "installed headers: ${found}\nexpected: ${expected}")
endif()

run("${CMAKE_COMMAND}" -S "${SOURCE}/cpp/tests/package" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DCMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/consumer")
if(SEAL)
  run("${CMAKE_COMMAND}" -S "${SOURCE}/cpp/tests/package/seal" -B "${WORK}/seal" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${CXX}")
  run("${CMAKE_COMMAND}" --build "${WORK}/seal")
  run("${WORK}/seal/program")
endif()

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
execute_process(COMMAND pkg-config --cflags --libs halocline
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("${CXX}" -std=c++20 "${SOURCE}/cpp/tests/package/consumer.cpp" -o "${WORK}/consumer" ${flags})
run("${WORK}/consumer")
file(REMOVE_RECURSE "${WORK}")
