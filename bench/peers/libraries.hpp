// libraries.hpp: shared libraries with the published code of other tables, which studies measure with ours.
#pragma once

#include <dlfcn.h>

#include <string>

#include "frame/json.hpp"
#include "holdfast/error.hpp"

namespace holdfast::bench {

/// The function `name` of the shared library at `path`, which stays loaded. `header` describes it. Throws InvalidArgument if the library
/// cannot be loaded or does not export the function.
inline void* library_function(const std::string& path, const char* name, const char* header) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw InvalidArgument("the library of a table, " + path + ", cannot be loaded: " + dlerror() +
                          "; name the path of a shared library");
  }
  void* const function = dlsym(library, name);
  if (function == nullptr) {
    dlclose(library);
    throw InvalidArgument("the library " + path + " does not export " + name + ": " + header +
                          " describes what it must have");
  }
  return function;
}

/// What a result says of a table of a library.
template <class Original>
Json about(const Original& one) {
  return {{"name", one.name}, {"commit", one.commit}, {"settings", one.settings}};
}

}  // namespace holdfast::bench
