// lacks.hpp: a policy without one of its members, to show that a concept demands it.
#pragma once

namespace holdfast::test {

/// Neither callable nor convertible: a member of this type hides one of the base.
struct Hidden {};

}  // namespace holdfast::test

/// True if `suffices<Policy>` holds, and does not for a policy that has all but `member`. `suffices` is a variable template of the test.
#define HOLDFAST_NEEDS(Policy, member)                       \
  (suffices<Policy> && ![] {                                 \
    struct Without : Policy {                                \
      [[maybe_unused]] ::holdfast::test::Hidden member = {}; \
    };                                                       \
    return suffices<Without>;                                \
  }())
