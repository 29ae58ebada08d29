// built_in_kinds.hpp: the kinds of objects in src/. cmake/ObjectKinds.cmake generates the list from the files *_kind.cpp.
#pragma once

#include <vector>

namespace holdfast::pool {

class ObjectKind;
std::vector<const ObjectKind*> built_in_kinds();

}  // namespace holdfast::pool
