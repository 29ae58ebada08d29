# Kills.cmake: holdfast-kill-test and its child with failpoints: the campaigns of src/proof/kill, and every subject, which registers
# itself (src/proof/kill/registry.hpp): the folders of tests/kill, and of bench those called `kill`.
set(kill_folders "${PROJECT_SOURCE_DIR}/src/proof/kill" "${PROJECT_SOURCE_DIR}/tests/kill")
file(GLOB bench_subjects CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/bench/*/kill")
set(kill_sources "")
foreach(folder IN LISTS kill_folders bench_subjects)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(APPEND kill_sources ${found})
  if(HOLDFAST_CUDA)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${folder}/*.cu")
    list(APPEND kill_sources ${found})
  endif()
endforeach()
holdfast_program(holdfast-kill-test ${kill_sources})

# What the kill test kills at failpoints (src/core/failpoint.hpp): its own sources, with a library that has them.
set(with_failpoints ${holdfast_sources} ${wide_sources})
list(FILTER with_failpoints EXCLUDE REGEX "/src/(kmers|structures/dramhit)/")  # no failpoints there, and nothing to kill
list(APPEND with_failpoints "${PROJECT_SOURCE_DIR}/src/structures/dramhit/pages.cpp")  # structures/cuckoo needs it
holdfast_library(holdfast_failpoints ${with_failpoints})
target_compile_definitions(holdfast_failpoints PUBLIC HOLDFAST_FAILPOINTS=1)
target_compile_options(holdfast_failpoints PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)  # it compiles in a quarter of the time
get_target_property(sources holdfast-kill-test SOURCES)
add_executable(holdfast-kill-child ${sources} "${PROJECT_SOURCE_DIR}/src/proof/runs/results.cpp")
target_include_directories(holdfast-kill-child PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_compile_options(holdfast-kill-child PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
target_link_libraries(holdfast-kill-child PRIVATE holdfast_failpoints holdfast_options)
if(HOLDFAST_CUDA)
  target_compile_definitions(holdfast-kill-child PRIVATE HOLDFAST_WITH_CUDA=1)
  target_compile_options(holdfast-kill-child PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  target_link_libraries(holdfast-kill-child PRIVATE CUDA::cudart_static)
  if(HOLDFAST_TESTED_ARCHITECTURE)
    set_target_properties(holdfast_failpoints holdfast-kill-child PROPERTIES
      CUDA_ARCHITECTURES "${HOLDFAST_TESTED_ARCHITECTURE}")
  endif()
endif()
add_dependencies(holdfast-kill-test holdfast-kill-child)
add_test(NAME kill.none_is_shipped COMMAND sh -c "! '${CMAKE_NM}' -C '$<TARGET_FILE:holdfast>' | grep failpoint")
set_tests_properties(kill.none_is_shipped PROPERTIES LABELS kill)

# A bounded run of the kills; `make kill-test` does 1,000.
add_test(NAME kill.bounded COMMAND holdfast-kill-test --kills 40 --seed 1)
add_test(NAME kill.large COMMAND holdfast-kill-test --kills 8 --seed 1 --large)
set_tests_properties(kill.bounded kill.large PROPERTIES TIMEOUT 3600 LABELS kill)
