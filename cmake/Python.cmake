# Python.cmake: the modules holdfastdb._native and holdfastdb._bench with typed stubs, by nanobind.
#
# scikit-build-core installs them into the wheel. Without it they land in <build>/python/holdfastdb beside links to
# python/holdfastdb, so that PYTHONPATH=<build>/python runs the package as it lies in the tree.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(package_tree "${CMAKE_CURRENT_BINARY_DIR}/python/holdfastdb")
file(MAKE_DIRECTORY "${package_tree}")
file(GLOB entries CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/holdfastdb"
  "${PROJECT_SOURCE_DIR}/python/holdfastdb/*")
foreach(entry IN LISTS entries)
  if(NOT entry MATCHES "\\.(cpp|hpp|pat)$|^__pycache__$")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/holdfastdb/${entry}" "${package_tree}/${entry}" SYMBOLIC)
  endif()
endforeach()

# One module from the sources given, its stub beside it.
function(holdfast_module name)
  nanobind_add_module(${name} STABLE_ABI NB_STATIC NOMINSIZE ${ARGN})
  target_link_libraries(${name} PRIVATE holdfast)
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/bench")
  target_compile_definitions(${name} PRIVATE HOLDFAST_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${HOLDFAST_CUDA}>:HOLDFAST_WITH_CUDA=1>)
  set(exports "${PROJECT_SOURCE_DIR}/cmake/python-exports.map")
  target_link_options(${name} PRIVATE "LINKER:--version-script=${exports}")
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${package_tree}" LINK_DEPENDS "${exports}")
  if(HOLDFAST_CUDA)
    target_link_libraries(${name} PRIVATE CUDA::cudart_static)
  endif()
  set(patterns "${PROJECT_SOURCE_DIR}/python/holdfastdb/${name}.pat")
  if(EXISTS "${patterns}")
    list(PREPEND patterns PATTERN_FILE)
  else()
    set(patterns "")
  endif()
  nanobind_add_stub(${name}_stub MODULE ${name} OUTPUT "${package_tree}/${name}.pyi"
    PYTHON_PATH "$<TARGET_FILE_DIR:${name}>" DEPENDS ${name} ${patterns})
  install(TARGETS ${name} LIBRARY DESTINATION holdfastdb COMPONENT python)
  install(FILES "${package_tree}/${name}.pyi" DESTINATION holdfastdb COMPONENT python)
endfunction()

if(EXISTS "${PROJECT_SOURCE_DIR}/python/holdfastdb/_native.cpp")
  file(GLOB native_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/holdfastdb/*.cpp")
  holdfast_module(_native ${native_sources})
endif()

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
if(bench_sources)
  holdfast_module(_bench ${bench_sources})
  holdfast_map_peers(_bench)
  holdfast_peer(_bench LMDB lmdb.h lmdb)
  holdfast_peer(_bench ROCKSDB rocksdb/db.h rocksdb)
endif()
