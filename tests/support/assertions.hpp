// assertions.hpp: tests of assertions: what breaks a condition ends the process, in every build but Release.
#pragma once

#include <gtest/gtest.h>

#if defined(NDEBUG)
#define EXPECT_ASSERTION(statement, text) GTEST_SKIP() << "built without assertions"
#else
/// The statement breaks an assertion with this text.
#define EXPECT_ASSERTION(statement, text)             \
  do {                                                \
    GTEST_FLAG_SET(death_test_style, "threadsafe");   \
    EXPECT_DEATH(static_cast<void>(statement), text); \
  } while (false)
#endif
