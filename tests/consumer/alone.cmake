# alone.cmake: the documented way to build for C++ makes the library and nothing else, and GPU=AUTO is what scripts/gpu-choice says.
# Wants ROOT, WORK (scratch), CXX, MAKE (ninja).
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/bin")

# Configures in a folder of its own, with programs of ours first in PATH. Sets `failed` and `said`.
function(configure name)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PATH=${WORK}/bin:$ENV{PATH}" "${CMAKE_COMMAND}" --preset release
    -S "${ROOT}" -B "${WORK}/${name}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_MAKE_PROGRAM=${MAKE}" ${ARGN}
    WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE err)
  set(failed "${failed}" PARENT_SCOPE)
  set(said "${out}${err}" PARENT_SCOPE)
endfunction()
function(program name text)
  file(WRITE "${WORK}/bin/${name}" "#!/bin/sh\n${text}\n")
  file(CHMOD "${WORK}/bin/${name}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

program(nvidia-smi "exit 9")
program(nvcc "exit 1")
configure(no_gpu)
if(failed OR NOT said MATCHES "GPU: off \\(GPU=AUTO: no NVIDIA GPU here")
  message(FATAL_ERROR "with nvcc and without a GPU, GPU=AUTO is not off:\n${said}")
endif()
execute_process(COMMAND "${MAKE}" -C "${WORK}/no_gpu" -t inputs all OUTPUT_VARIABLE inputs RESULT_VARIABLE failed)
if(failed)  # an older ninja
  execute_process(COMMAND "${MAKE}" -C "${WORK}/no_gpu" -t query all OUTPUT_VARIABLE inputs COMMAND_ERROR_IS_FATAL ANY)
endif()
if(NOT inputs MATCHES "libholdfast\\.a" OR inputs MATCHES "test_|/tests/|/bench/|/examples/|[-_]bench|example_")
  message(FATAL_ERROR "the library, and nothing else, should be built:\n${inputs}")
endif()

# With a GPU, a build that cannot have CUDA is an error, never a quiet fallback.
program(nvidia-smi "echo 'GPU 0: NVIDIA Imagined (UUID: none)'")
configure(gpu "-DCMAKE_CUDA_COMPILER=${WORK}/bin/nvcc")
if(NOT failed OR said MATCHES "GPU: off")
  message(FATAL_ERROR "with a GPU and an nvcc that does not work, GPU=AUTO should be an error:\n${said}")
endif()
configure(off -DGPU=OFF)
if(failed OR NOT said MATCHES "GPU: off \\(GPU=OFF was asked for")
  message(FATAL_ERROR "GPU=OFF:\n${said}")
endif()
