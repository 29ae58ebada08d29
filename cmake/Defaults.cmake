# Defaults.cmake: language level, build types, warnings, sanitizers, and ccache where there is one.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, RelWithDebInfo (optimized, with assertions) or Release" FORCE)
endif()
# Assertions stay on in every build type but Release.
# Stacks have their lines; for variables in a debugger take Debug: -g costs a third of the time to compile.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -g -lineinfo")

find_program(HOLDFAST_CCACHE ccache)
if(HOLDFAST_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HOLDFAST_CCACHE}" CACHE STRING "")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${HOLDFAST_CCACHE}" CACHE STRING "")
endif()

# CMAKE_UNITY_BUILD compiles several files of a target as one, in a third of the time; `make` and CI do. What is shipped
# (`pip install .`) or compared with the baseline is compiled file by file, and so is what one works on (preset dev). Sixteen at
# once read headers half as often as CMake's eight; with CUDA names of more files would meet.
if(GPU STREQUAL "OFF" AND NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
endif()

find_package(Threads REQUIRED)

# What every target of this project is compiled with; never part of the installed interface.
add_library(holdfast_options INTERFACE)
target_compile_options(holdfast_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(HOLDFAST_WERROR)
  target_compile_options(holdfast_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
endif()
if(HOLDFAST_SANITIZE)
  # In a third to half of the time that -O2 -g takes to compile; stacks keep their lines. What checks every addition compiles
  # faster still with -Og, and threads run slower.
  if(HOLDFAST_SANITIZE MATCHES "undefined")
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-Og -g1")
  else()
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  endif()
  # GCC takes std::stop_source for uninitialized where it inlines little; the other builds ask.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(holdfast_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
  add_compile_definitions(HOLDFAST_SANITIZED=1)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${HOLDFAST_SANITIZE}>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer> $<$<COMPILE_LANGUAGE:CXX>:-g1> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${HOLDFAST_SANITIZE})
endif()
