# Bench.cmake: benchmarks that are programs: holdfast-link-bench, a table on a GPU with its arrays in GPU memory, and
# holdfast-dramhit-bench, a table in memory; and the peers, where they are installed.
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)
if(HOLDFAST_CUDA)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  add_executable(holdfast-link-bench "${PROJECT_SOURCE_DIR}/bench/link/main.cu")
  target_link_libraries(holdfast-link-bench PRIVATE holdfast_cuda holdfast_options CLI11::CLI11
                                                     nlohmann_json::nlohmann_json)
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

if(CLI11_FOUND AND nlohmann_json_FOUND AND HOLDFAST_EXAMPLES)
  file(GLOB dramhit_bench CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/dramhit/*.cpp")
  add_executable(holdfast-dramhit-bench ${dramhit_bench} "${PROJECT_SOURCE_DIR}/bench/distribution.cpp"
    "${PROJECT_SOURCE_DIR}/bench/limits.cpp" "${PROJECT_SOURCE_DIR}/bench/peers.cpp"
    "${PROJECT_SOURCE_DIR}/bench/peers_flat.cpp")
  set_source_files_properties("${PROJECT_SOURCE_DIR}/bench/dramhit/folklore_avx512.cpp" PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512cd;-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
  target_include_directories(holdfast-dramhit-bench PRIVATE "${PROJECT_SOURCE_DIR}/bench" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(holdfast-dramhit-bench PRIVATE holdfast holdfast_options CLI11::CLI11
                                                        nlohmann_json::nlohmann_json)
  holdfast_map_peers(holdfast-dramhit-bench)
endif()
