# Bench.cmake: benchmarks that are programs: holdfast-link-bench, a table on a GPU with its arrays in GPU memory.
if(HOLDFAST_HAS_CUDA_SOURCES)
  add_executable(holdfast-link-bench "${PROJECT_SOURCE_DIR}/bench/link/main.cu")
  target_link_libraries(holdfast-link-bench PRIVATE holdfast_cuda holdfast_options)
endif()
