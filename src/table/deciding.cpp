// deciding.cpp: for which pools a thread decides.
#include "table/deciding.hpp"

#include "holdfast/error.hpp"

namespace holdfast {

namespace {

thread_local const Deciding* innermost = nullptr;

}  // namespace

Deciding::Deciding(const void* pool) : pool_(pool), outer_(innermost) { innermost = this; }
Deciding::~Deciding() { innermost = outer_; }

void Deciding::refuse(const void* pool, const std::string& path) {
  for (const Deciding* one = innermost; one != nullptr; one = one->outer_) {
    if (one->pool_ != pool) continue;
    throw InvalidArgument("a predicate of erase_if (or a signal's handler in it) changes, syncs, copies or closes " +
                          path + ", whose pool it keeps still: it may search the tables there; change them afterwards");
  }
}

}  // namespace holdfast
