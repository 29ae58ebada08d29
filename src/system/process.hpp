// process.hpp: what /proc says about this process and others: who they are, and whether they are about to be gone.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::system {

using BootId = std::array<std::uint8_t, 16>;

/// The kernel's random name for this run of the machine; all zero if it does not say.
BootId boot_id();
/// Is `id` that of this run? No, if the kernel does not say which it is: one that is unknown is not equal to another.
bool is_this_boot(const std::uint8_t (&id)[16]);

/// A process, distinguished from a later one of the same number.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< clock ticks after boot; 0: unknown
};
/// The process that has this number now; pid 0 if there is none.
ProcessId process_at(pid_t pid);
ProcessId this_process();

enum class Life {
  gone,   ///< no such process, or it has wholly exited and waits to be reaped
  dying,  ///< it has begun to exit, or SIGKILL is on its way: it may still hold locks and its GPU may still be storing
  alive
};
Life life_of(const ProcessId& process);

/// True if `process` maps the file. False too if this may not be asked.
bool maps_file(pid_t process, std::uint64_t device, std::uint64_t inode);

/// Waits until `process` has wholly exited. False if it has not within `limit`.
bool wait_for_exit(const ProcessId& process, std::chrono::milliseconds limit);

/// A few words of the command line, such as "python train.py".
std::string command_of(pid_t pid);

}  // namespace holdfast::system
