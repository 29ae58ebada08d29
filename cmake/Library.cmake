# Library.cmake: the library `holdfast` from what lies in the layers (docs/architecture.md), and `holdfast_model` for the tests.
# A layer or a folder that is added is found: src/proof and folders named `model` are for tests; src/gpu and folders named `cuda`
# need CUDA.
file(GLOB_RECURSE holdfast_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp" "${PROJECT_SOURCE_DIR}/src/*.cu")
set(model_sources ${holdfast_sources})
list(FILTER holdfast_sources EXCLUDE REGEX "/src/proof/|/model/")
set(cuda_sources ${holdfast_sources})
list(FILTER cuda_sources INCLUDE REGEX "/src/gpu/|/cuda/|\\.cu$")
list(REMOVE_ITEM holdfast_sources ${cuda_sources})

# Files for one instruction set; src/structures/gphash/cpu calls them only where the processor has it. They go last into the
# library: of an inline function compiled in several files the linker keeps the first, which must be a portable one.
set(wide_sources ${holdfast_sources})
list(FILTER holdfast_sources EXCLUDE REGEX "_avx(2|512)\\.cpp$")
list(FILTER wide_sources INCLUDE REGEX "_avx(2|512)\\.cpp$")
list(SORT wide_sources ORDER DESCENDING)  # avx2 before avx512
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(source IN LISTS wide_sources)
    if(source MATCHES "_avx2\\.cpp$")
      set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
    elseif(source MATCHES "_avx512\\.cpp$")
      set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS
        "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512cd;-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
    endif()
  endforeach()
else()
  set(wide_sources "")
endif()
# As shipped, of the Python module above all: -O3 for loops over rows, and fewer bytes for what has none: the layers of the pool and of the
# public table, but for the flushes of lines. The table's driver for processors without AVX2 has -O2; -Os made it up to a fifth slower,
# and -O2 the changes of the others by 3 to 5%. Unity builds are not shipped, and take no source with options of its own.
if(NOT CMAKE_UNITY_BUILD)
  foreach(source IN LISTS holdfast_sources)
    set(level "")
    if(source MATCHES "/src/(pool|system|table)/" AND NOT source MATCHES "/persist\\.cpp$")
      set(level -Os)
    elseif(source MATCHES "/src/log/[^/]+$|/src/checkpoint/(catalogue|checkpoint_)|/src/store/(open_store|store_object|layout)")
      set(level -Os)  # what opens, checks and describes
    elseif(SKBUILD AND NOT HOLDFAST_BENCH AND source MATCHES "/src/structures/(group|linear|path|pfht)/")
      set(level -Os)  # Python has no such tables: it checks, copies and describes those of a pool
    elseif(source MATCHES "/src/structures/gphash/[^/]+$|/gphash/cpu/simd/driver_portable")
      set(level -O2)
    endif()
    if(level)
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:${level}>")
    endif()
  endforeach()
endif()

if(HOLDFAST_CUDA)
  list(APPEND holdfast_sources ${cuda_sources})
endif()

# ISA-L inflates what k-mers are counted in. Without it, gzip is refused.
find_path(HOLDFAST_ISAL_INCLUDE isa-l/igzip_lib.h)
find_library(HOLDFAST_ISAL_LIBRARY isal)
if(HOLDFAST_ISAL_INCLUDE AND HOLDFAST_ISAL_LIBRARY)
  set(HOLDFAST_ISAL ON)
else()
  set(HOLDFAST_ISAL OFF)
  message(STATUS "no gzip for k-mers: isa-l/igzip_lib.h is not installed (libisal-dev)")
endif()

# The library under a name, from sources: Tests.cmake builds another, with failpoints.
function(holdfast_library name)
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${name} PRIVATE HOLDFAST_VERSION="${PROJECT_VERSION}")
  # So that a linker can leave out what a program does not call (--gc-sections), as that of the Python module does.
  target_compile_options(${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-ffunction-sections>)
  target_link_libraries(${name} PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:holdfast_options>)
  if(HOLDFAST_ISAL)
    target_compile_definitions(${name} PRIVATE HOLDFAST_WITH_ISAL=1)
    target_include_directories(${name} SYSTEM PRIVATE "${HOLDFAST_ISAL_INCLUDE}")
    target_link_libraries(${name} PRIVATE "${HOLDFAST_ISAL_LIBRARY}")
  endif()
  if(HOLDFAST_CUDA)
    # Defined where the cuda machine is part of the library: `#ifdef HOLDFAST_WITH_CUDA` in src/table.
    target_compile_definitions(${name} PRIVATE HOLDFAST_WITH_CUDA=1)
    target_link_libraries(${name} PRIVATE CUDA::cudart_static)
  endif()
endfunction()
include(cmake/ObjectKinds.cmake)
list(APPEND holdfast_sources "${object_kinds_source}")
holdfast_library(holdfast ${holdfast_sources} ${wide_sources})
add_library(holdfast::holdfast ALIAS holdfast)

# What a user's kernels need: the CUDA headers, and the layers that table_ref.cuh includes.
if(HOLDFAST_CUDA)
  add_library(holdfast_cuda INTERFACE)
  add_library(holdfast::cuda ALIAS holdfast_cuda)
  set_target_properties(holdfast_cuda PROPERTIES EXPORT_NAME cuda)
  target_include_directories(holdfast_cuda INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/holdfast/detail>)
  target_compile_options(holdfast_cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  target_link_libraries(holdfast_cuda INTERFACE holdfast CUDA::cudart_static)
endif()

# What proofs are made with (tests only): src/proof.
if(HOLDFAST_TESTS)
  file(GLOB_RECURSE proof_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/proof/*.cpp")
  list(FILTER proof_sources EXCLUDE REGEX "/src/proof/kill/")  # a program of its own (Kills.cmake)
  add_library(holdfast_proof STATIC ${proof_sources})
  target_link_libraries(holdfast_proof PUBLIC holdfast PRIVATE holdfast_options)
  target_include_directories(holdfast_proof PUBLIC "${PROJECT_SOURCE_DIR}/src")
endif()

# The model machine: the shipped algorithms over a memory that records every access (tests only).
if(HOLDFAST_TESTS)
  list(FILTER model_sources INCLUDE REGEX "/model/")
  add_library(holdfast_model STATIC ${model_sources})
  if(NOT HOLDFAST_MODEL_TESTS)
    set_target_properties(holdfast_model PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(holdfast_model PUBLIC holdfast_proof PRIVATE holdfast_options)
  target_include_directories(holdfast_model PUBLIC "${PROJECT_SOURCE_DIR}/src")
endif()
