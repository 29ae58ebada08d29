# Bench.cmake: benchmarks that are programs, holdfast-<folder>-bench: bench/main.cpp with the studies of a folder of bench/. Those that
# need a GPU are in a file studies.cu or studies.cpp; those of dramhit, the table in memory, do not, and stand beside peers, where these
# are installed. Python.cmake has the module `_bench`.
set(bench "${PROJECT_SOURCE_DIR}/bench")
file(GLOB bench_frame CONFIGURE_DEPENDS "${bench}/frame/*.cpp")
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)

# The program of a folder, from its studies and what they need; `library`: that it is linked with.
function(holdfast_bench_program folder library)
  set(program holdfast-${folder}-bench)
  add_executable(${program} "${bench}/main.cpp" ${bench_frame} ${ARGN})
  target_include_directories(${program} PRIVATE "${bench}" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${program} PRIVATE ${library} holdfast_options CLI11::CLI11 nlohmann_json::nlohmann_json)
endfunction()

if(HOLDFAST_CUDA)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  file(GLOB gpu_studies CONFIGURE_DEPENDS "${bench}/*/studies.cu" "${bench}/*/studies.cpp")
  foreach(studies IN LISTS gpu_studies)
    cmake_path(GET studies PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    holdfast_bench_program(${folder} holdfast_cuda "${studies}")
    add_dependencies(holdfast_cuda_all holdfast-${folder}-bench)
  endforeach()
endif()

# A peer of the comparison, where it is installed: target, name, header, library (none: it is all headers).
function(holdfast_peer target name header)
  find_path(HOLDFAST_${name}_INCLUDE ${header})
  if(ARGC GREATER 3)
    find_library(HOLDFAST_${name}_LIBRARY ${ARGV3})
  endif()
  if(HOLDFAST_${name}_INCLUDE AND (ARGC EQUAL 3 OR HOLDFAST_${name}_LIBRARY))
    target_compile_definitions(${target} PRIVATE HOLDFAST_HAVE_${name}=1)
    target_link_libraries(${target} PRIVATE ${HOLDFAST_${name}_LIBRARY})
  else()
    message(STATUS "benchmarks without ${name}: ${header} is not installed")
  endif()
endfunction()
function(holdfast_map_peers target)
  holdfast_peer(${target} TBB tbb/concurrent_hash_map.h tbb)
  holdfast_peer(${target} LIBCUCKOO libcuckoo/cuckoohash_map.hh)
  holdfast_peer(${target} BOOST boost/unordered/concurrent_flat_map.hpp)
  find_package(absl QUIET)
  if(TARGET absl::flat_hash_map)
    target_compile_definitions(${target} PRIVATE HOLDFAST_HAVE_ABSL=1)
    target_link_libraries(${target} PRIVATE absl::flat_hash_map)
  else()
    message(STATUS "benchmarks without ABSL: absl/container/flat_hash_map.h is not installed")
  endif()
endfunction()

# The index of the store: studies that need no GPU, and with CUDA studies.cu, in one program.
if(CLI11_FOUND AND nlohmann_json_FOUND)
  file(GLOB cuckoo_bench CONFIGURE_DEPENDS "${bench}/cuckoo/*.cpp")
  if(HOLDFAST_CUDA)
    target_sources(holdfast-cuckoo-bench PRIVATE ${cuckoo_bench})
  else()
    holdfast_bench_program(cuckoo holdfast ${cuckoo_bench})
  endif()
endif()

# Group hashing and the schemes of its paper: none needs a GPU.
if(CLI11_FOUND AND nlohmann_json_FOUND)
  file(GLOB structures_bench CONFIGURE_DEPENDS "${bench}/structures/*.cpp" "${bench}/structures/originals/*.cpp")
  holdfast_bench_program(structures holdfast ${structures_bench})
  if(HOLDFAST_TESTS)
    add_test(NAME bench.structures COMMAND "${PROJECT_SOURCE_DIR}/tests/structures/bench_smoke"
      "$<TARGET_FILE:holdfast-structures-bench>")
  endif()
endif()

# The store on CPU threads, beside RocksDB and LMDB.
if(CLI11_FOUND AND nlohmann_json_FOUND)
  file(GLOB store_bench CONFIGURE_DEPENDS "${bench}/store/*.cpp")
  holdfast_bench_program(store holdfast ${store_bench} "${bench}/peers/stores.cpp")
  holdfast_peer(holdfast-store-bench LMDB lmdb.h lmdb)
  holdfast_peer(holdfast-store-bench ROCKSDB rocksdb/db.h rocksdb)
  if(HOLDFAST_TESTS)
    add_test(NAME bench.store COMMAND "${PROJECT_SOURCE_DIR}/tests/store/bench_smoke" "$<TARGET_FILE:holdfast-store-bench>")
  endif()
endif()

if(CLI11_FOUND AND nlohmann_json_FOUND AND HOLDFAST_EXAMPLES)
  file(GLOB dramhit_bench CONFIGURE_DEPENDS "${bench}/dramhit/*.cpp")
  holdfast_bench_program(dramhit holdfast ${dramhit_bench} "${bench}/memory/limits.cpp" "${bench}/peers/peers.cpp"
    "${bench}/peers/peers_flat.cpp")
  set_source_files_properties("${bench}/dramhit/folklore_avx512.cpp" PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512cd;-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
  file(GLOB folklore CONFIGURE_DEPENDS "${bench}/dramhit/folklore*.cpp")  # `dramhit` is another namespace there
  set_source_files_properties(${folklore} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(holdfast-dramhit-bench PROPERTIES UNITY_BUILD OFF)
  else()  # it takes a minute to compile, and measures what is shipped: by name alone
    set_target_properties(holdfast-dramhit-bench PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  holdfast_map_peers(holdfast-dramhit-bench)
endif()
