# Bench.cmake: benchmarks that are programs: holdfast-link-bench, a table on a GPU with its arrays in GPU memory.
if(HOLDFAST_HAS_CUDA_SOURCES)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  add_executable(holdfast-link-bench "${PROJECT_SOURCE_DIR}/bench/link/main.cu")
  target_link_libraries(holdfast-link-bench PRIVATE holdfast_cuda holdfast_options CLI11::CLI11
                                                     nlohmann_json::nlohmann_json)
endif()
