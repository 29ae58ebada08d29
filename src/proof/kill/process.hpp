// process.hpp: child processes of the kill test: this program again, started afresh at another address.
#pragma once

#include <sys/types.h>

#include <string>

namespace holdfast::proof::kill {

/// This program; and the same with failpoints, which lies beside it.
std::string this_program();
std::string program_with_failpoints();

/// A running child. Killed and waited for when it goes out of scope.
class Child {
 public:
  Child() = default;
  /// Runs `program` as `--child role` with the shared memory's descriptor.
  Child(const std::string& program, const std::string& role, int shared_descriptor);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  /// Sends SIGKILL and returns at once.
  void kill();
  /// Waits until the child has ended.
  void wait();
  /// True if it has ended by itself or by a signal.
  bool ended();
  bool was_killed() const;   ///< ended by SIGKILL
  bool failed() const;       ///< ended by another signal, or with an exit status that is not 0
  std::string fate() const;  ///< "exit status 3", "signal 11"

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace holdfast::proof::kill
