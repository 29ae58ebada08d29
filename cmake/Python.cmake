# Python.cmake: the module holdfastdb._native, and the benchmarks' module _bench, with typed stubs, by nanobind.
#
# The first goes into the wheel (component `python`), the second never does: component `bench` puts it beside an installed
# package. <build>/python has both, and links to python/holdfastdb, so that PYTHONPATH=<build>/python runs the package as it
# lies in the tree.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(python_tree "${CMAKE_CURRENT_BINARY_DIR}/python")
set(package_tree "${python_tree}/holdfastdb")
file(MAKE_DIRECTORY "${package_tree}")
file(GLOB entries CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/holdfastdb"
  "${PROJECT_SOURCE_DIR}/python/holdfastdb/*")
foreach(entry IN LISTS entries)
  if(NOT entry STREQUAL "__pycache__")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/holdfastdb/${entry}" "${package_tree}/${entry}" SYMBOLIC)
  endif()
endforeach()

# One module in `tree` from the sources given, its stub beside it; `component` installs it into `destination`.
function(holdfast_module name tree component destination)
  nanobind_add_module(${name} STABLE_ABI NB_STATIC NB_DOMAIN holdfast ${ARGN})
  target_link_libraries(${name} PRIVATE holdfast)
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/bench")
  target_compile_definitions(${name} PRIVATE HOLDFAST_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${HOLDFAST_CUDA}>:HOLDFAST_WITH_CUDA=1>)
  set(exports "${PROJECT_SOURCE_DIR}/cmake/python-exports.map")
  target_link_options(${name} PRIVATE "LINKER:--version-script=${exports}")
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${tree}" LINK_DEPENDS "${exports}")
  if(HOLDFAST_CUDA)
    target_link_libraries(${name} PRIVATE CUDA::cudart_static)
  endif()
  set(patterns "${PROJECT_SOURCE_DIR}/python/native/${name}.pat")
  if(EXISTS "${patterns}")
    list(PREPEND patterns PATTERN_FILE)
  else()
    set(patterns "")
  endif()
  nanobind_add_stub(${name}_stub MODULE ${name} OUTPUT "${tree}/${name}.pyi"
    PYTHON_PATH "$<TARGET_FILE_DIR:${name}>" DEPENDS ${name} ${patterns})
  install(TARGETS ${name} LIBRARY DESTINATION ${destination} COMPONENT ${component})
  install(FILES "${tree}/${name}.pyi" DESTINATION ${destination} COMPONENT ${component})
endfunction()

if(EXISTS "${PROJECT_SOURCE_DIR}/python/native")
  file(GLOB native_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/native/*.cpp")
  holdfast_module(_native "${package_tree}" python holdfastdb ${native_sources})
  set_target_properties(_native PROPERTIES UNITY_BUILD OFF)  # several files have a `create`
endif()

if(HOLDFAST_BENCH)
  file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/module.cpp"
    "${PROJECT_SOURCE_DIR}/bench/frame/*.cpp" "${PROJECT_SOURCE_DIR}/bench/memory/*.cpp"
    "${PROJECT_SOURCE_DIR}/bench/peers/*.cpp" "${PROJECT_SOURCE_DIR}/bench/table/*.cpp")
  holdfast_module(_bench "${python_tree}" bench . NOMINSIZE ${bench_sources})  # it measures: what is between two clocks is not for size
  holdfast_map_peers(_bench)
  holdfast_peer(_bench LMDB lmdb.h lmdb)
  holdfast_peer(_bench ROCKSDB rocksdb/db.h rocksdb)
endif()
