// cache_policy.cpp: the names of cache policies.
#include <string>

#include "holdfast/cache.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

namespace {

struct Named {
  CachePolicy policy;
  const char* name;
};
constexpr Named kPolicies[] = {{CachePolicy::lfu, "lfu"}, {CachePolicy::lru, "lru"}, {CachePolicy::random, "random"}};

}  // namespace

const char* name(CachePolicy policy) {
  for (const Named& each : kPolicies) {
    if (each.policy == policy) return each.name;
  }
  return "unknown";
}

CachePolicy cache_policy_from(std::string_view name) {
  for (const Named& each : kPolicies) {
    if (each.name == name) return each.policy;
  }
  throw InvalidArgument("cache_policy is '" + std::string(name) + "': give 'lfu', 'lru' or 'random'");
}

}  // namespace holdfast
