# ObjectKinds.cmake: writes the list of the kinds of objects (src/pool/kinds/built_in_kinds.hpp): each NAME_kind.cpp in src/ defines
# holdfast::kinds::NAME_kind().
file(GLOB_RECURSE kind_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_kind.cpp")
list(SORT kind_files)
set(kind_declarations "")
set(kind_calls "")
foreach(file IN LISTS kind_files)
  cmake_path(GET file STEM kind)
  string(APPEND kind_declarations "const pool::ObjectKind& ${kind}();\n")
  string(APPEND kind_calls "&kinds::${kind}(), ")
endforeach()
set(object_kinds_source "${PROJECT_BINARY_DIR}/generated/built_in_kinds.cpp")
file(CONFIGURE OUTPUT "${object_kinds_source}" @ONLY CONTENT [[
// Written by cmake/ObjectKinds.cmake.
#include "pool/kinds/built_in_kinds.hpp"

namespace holdfast {
namespace kinds {
@kind_declarations@}  // namespace kinds

std::vector<const pool::ObjectKind*> pool::built_in_kinds() { return {@kind_calls@}; }

}  // namespace holdfast
]])
