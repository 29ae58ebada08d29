# Tests.cmake: one GoogleTest binary a folder of tests/, test_<folder>, and the project outside the tree.
find_package(GTest REQUIRED)
include(GoogleTest)

# Only these name the folder of the tree: what they do not reach compiles alike in every clone, once (.ci/run).
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/tests/corrupt/retired_test.cpp" "${PROJECT_SOURCE_DIR}/tests/system/marks/complete_test.cpp"
  PROPERTIES COMPILE_DEFINITIONS HOLDFAST_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")

# A suite is a folder: its files, and those of folders in it, make test_<folder>. A file *_main.cpp is a program by itself (a child for a
# test to kill, say). tests/kill is another program (Kills.cmake).
function(holdfast_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE holdfast_test_support holdfast_proof holdfast_options)
  if(NOT HOLDFAST_SANITIZE AND NOT name STREQUAL "test_model")  # what takes long to compile and has least to do
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  endif()
  if(HOLDFAST_CUDA)
    target_compile_definitions(${name} PRIVATE HOLDFAST_WITH_CUDA=1)
    target_link_libraries(${name} PRIVATE holdfast_cuda)
    if(HOLDFAST_TESTED_ARCHITECTURE)
      set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${HOLDFAST_TESTED_ARCHITECTURE}")
    endif()
  endif()
endfunction()

# Where the library is compiled for several GPUs, kernels of tests are for the oldest of them, and compiled by the driver for a
# newer one: each takes minutes.
set(HOLDFAST_TESTED_ARCHITECTURE "")
list(LENGTH CMAKE_CUDA_ARCHITECTURES architectures)
if(architectures GREATER 1)
  list(GET CMAKE_CUDA_ARCHITECTURES 0 oldest)
  string(REPLACE "-real" "" HOLDFAST_TESTED_ARCHITECTURE "${oldest}")
endif()

function(holdfast_suite suite folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(HOLDFAST_CUDA)
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${folder}/*.cu")
    list(APPEND sources ${kernels})
  endif()

  set(children "")
  foreach(source IN LISTS sources)
    if(source MATCHES "_main\\.cpp$")
      get_filename_component(stem "${source}" NAME_WE)
      holdfast_program(${stem} "${source}")
      list(APPEND children ${stem})
    endif()
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")

  if(NOT sources)
    return()
  endif()

  holdfast_program(test_${suite} ${sources})
  target_link_libraries(test_${suite} PRIVATE GTest::gtest GTest::gtest_main)
  if(suite STREQUAL "system")
    set_target_properties(test_system PROPERTIES UNITY_BUILD_BATCH_SIZE 8)  # more of them have names in common
  endif()
  if(suite STREQUAL "model")
    target_link_libraries(test_${suite} PRIVATE holdfast_model)
    set_target_properties(test_${suite} PROPERTIES UNITY_BUILD OFF)  # each file tells of its own small world
  endif()
  if(suite MATCHES "^(cuckoo|cuda|gpu)$")
    add_dependencies(holdfast_cuda_all test_${suite})
  endif()
  if(children)
    add_dependencies(test_${suite} ${children})
  endif()
  # NO_PRETTY_VALUES: the bytes of a parameter that has no name may be padding, which differs from run to run.
  gtest_discover_tests(test_${suite} TEST_PREFIX "${suite}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 600 NO_PRETTY_VALUES
    PROPERTIES TIMEOUT 3600 LABELS "${suite}")
endfunction()

# It replaces operator new, which no other file may have seen then.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/system/shortage.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/tests/*")
foreach(folder IN LISTS folders)
  get_filename_component(suite "${folder}" NAME)
  if(NOT IS_DIRECTORY "${folder}" OR suite MATCHES "^(python|fuzz|consumer|support|kill)$")
    continue()
  endif()
  if(suite MATCHES "^(cuda|gpu)$" AND NOT HOLDFAST_CUDA)
    continue()
  endif()
  if(suite MATCHES "^(corrupt|system)$" AND HOLDFAST_SANITIZE STREQUAL "thread")
    continue()  # one thread looks at damaged images, or is told what a system call answered
  endif()
  if(suite STREQUAL "model" AND NOT HOLDFAST_MODEL_TESTS)
    continue()
  endif()
  holdfast_suite(${suite} "${folder}")
endforeach()

# What kill subjects are made with is tested without any subject; the library of proofs has it not (Library.cmake).
target_sources(test_proof PRIVATE "${PROJECT_SOURCE_DIR}/src/proof/kill/registry.cpp"
  "${PROJECT_SOURCE_DIR}/src/proof/kill/oracle.cpp")

if(HOLDFAST_KILL_TESTS)
  include(cmake/Kills.cmake)
endif()

# The installed package, used by a project outside the tree. A library with sanitizers would force them on its user.
if(NOT HOLDFAST_SANITIZE)
  set(toolkit "")
  if(HOLDFAST_CUDA)
    get_filename_component(toolkit "${CUDAToolkit_BIN_DIR}" DIRECTORY)
  endif()
  add_test(NAME consumer COMMAND "${CMAKE_COMMAND}" "-DBUILD=${CMAKE_BINARY_DIR}" "-DWORK=${CMAKE_BINARY_DIR}/consumer"
    "-DSOURCE=${PROJECT_SOURCE_DIR}/tests/consumer" "-DCXX=${CMAKE_CXX_COMPILER}" "-DMAKE=${CMAKE_MAKE_PROGRAM}"
    "-DCUDA=${CMAKE_CUDA_COMPILER}" "-DARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}" "-DTOOLKIT=${toolkit}"
    -P "${PROJECT_SOURCE_DIR}/tests/consumer/run_consumer.cmake")
  set_tests_properties(consumer PROPERTIES TIMEOUT 3600 LABELS consumer COST 10)  # first: nothing else may be left to run beside it
  add_test(NAME consumer.alone COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DWORK=${CMAKE_BINARY_DIR}/alone"
    "-DCXX=${CMAKE_CXX_COMPILER}" "-DMAKE=${CMAKE_MAKE_PROGRAM}" -P "${PROJECT_SOURCE_DIR}/tests/consumer/alone.cmake")
  set_tests_properties(consumer.alone PROPERTIES LABELS consumer)
  add_test(NAME consumer.mistakes COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}/tests/consumer"
    "-DINCLUDE=${PROJECT_SOURCE_DIR}/include" "-DWORK=${CMAKE_BINARY_DIR}/mistakes" "-DCXX=${CMAKE_CXX_COMPILER}"
    -P "${PROJECT_SOURCE_DIR}/tests/consumer/mistakes.cmake")
  set_tests_properties(consumer.mistakes PROPERTIES TIMEOUT 3600 LABELS consumer COST 10)
endif()
