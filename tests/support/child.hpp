// child.hpp: what a test does in a forked child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace holdfast::test {

/// Runs `body` in a forked child. Returns its exit status, 99 if it threw, or 100 + the signal that ended it: SIGALRM after five minutes.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 100;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/// Runs `body`, which kills its process, in a forked child.
template <class Body>
void in_killed_child(const Body& body) {
  const auto ends = [&] {
    body();
    return 0;
  };
  EXPECT_EQ(in_child(ends), 100 + SIGKILL);
}

}  // namespace holdfast::test
