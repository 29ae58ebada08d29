# Install.cmake: what find_package(holdfast) finds: holdfast::holdfast, and holdfast::cuda where CUDA was built.
# It is the component `cxx`; the Python modules are the component `python`, which alone goes into a wheel.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")

set(exported holdfast)
if(HOLDFAST_CUDA)
  list(APPEND exported holdfast_cuda)
  # What kernels include is templates: the headers of all layers, as they lie in src.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/holdfast/detail" COMPONENT cxx
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "proof" EXCLUDE PATTERN "model" EXCLUDE)
endif()
# pkg-config: paths from where the file lies, so that the folder can be moved, and `cmake --install --prefix` may name another.
set(HOLDFAST_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(HOLDFAST_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
set(HOLDFAST_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(HOLDFAST_PC_PREFIX "\${pcfiledir}/${up}")
  set(HOLDFAST_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  set(HOLDFAST_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
set(HOLDFAST_PC_LIBS "-pthread")
if(HOLDFAST_ISAL)
  string(APPEND HOLDFAST_PC_LIBS " ${HOLDFAST_ISAL_LIBRARY}")
endif()
if(HOLDFAST_CUDA)
  string(APPEND HOLDFAST_PC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/holdfast.pc.in" holdfast.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/holdfast.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT cxx)

install(TARGETS ${exported} EXPORT holdfast ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cxx)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/holdfast" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cxx
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-targets.cmake DESTINATION "${package_folder}"
  COMPONENT cxx)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/holdfast-config.cmake.in" holdfast-config.cmake
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file(holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/holdfast-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake" DESTINATION "${package_folder}" COMPONENT cxx)
