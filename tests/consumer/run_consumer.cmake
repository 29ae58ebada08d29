# run_consumer.cmake: installs the build, builds tests/consumer against what was installed, and runs it.
# Wants BUILD, SOURCE, WORK (scratch), CXX, MAKE, and for a build with CUDA: CUDA (nvcc), ARCHITECTURES, TOOLKIT.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed" --component cxx)
set(options -DCMAKE_PREFIX_PATH=${WORK}/installed -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_MAKE_PROGRAM=${MAKE})
if(TOOLKIT)
  # A list in a list: the semicolons must survive one more expansion.
  string(REPLACE ";" "\\;" ARCHITECTURES "${ARCHITECTURES}")
  list(APPEND options -DCMAKE_CUDA_COMPILER=${CUDA} "-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES}"
    -DCUDAToolkit_ROOT=${TOOLKIT})
endif()
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}" -B "${WORK}/build" ${options})
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/consumer" "${WORK}/consumer.hold")
file(MAKE_DIRECTORY "${WORK}/shop")
run("${WORK}/build/stock" "${WORK}/shop")

# The same program without CMake, from where the installation was moved to.
find_program(pkg_config pkg-config REQUIRED)
file(GLOB_RECURSE file "${WORK}/installed/holdfast.pc")
string(REPLACE "${WORK}/installed" "${WORK}/moved" file "${file}")
file(RENAME "${WORK}/installed" "${WORK}/moved")
get_filename_component(folder "${file}" DIRECTORY)
execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${pkg_config}" --cflags --libs "holdfast >= 0.1"
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("${CXX}" -std=c++20 "${SOURCE}/consumer.cpp" -o "${WORK}/by_pkg_config" ${flags})
run("${WORK}/by_pkg_config" "${WORK}/by_pkg_config.hold")
if(TOOLKIT)
  run("${WORK}/build/consumer_kernel" "${WORK}/consumer_kernel.hold")
endif()
