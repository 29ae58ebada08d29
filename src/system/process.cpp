// process.cpp: reads /proc, and waits on process descriptors.
#include "system/process.hpp"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>
#include <vector>

#include "system/calls.hpp"

namespace holdfast::system {

namespace {

constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING of the kernel's task flags

std::string proc(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

/// What a file of /proc says, as far as it can be read: one may be gone in the middle of it, as a dying process's is.
std::string contents(const std::string& path) {
  std::string text;
  system::text(path.c_str(), text);
  return text;
}

struct TaskStat {
  bool there = false;
  char state = 0;
  std::uint64_t flags = 0, start_time = 0;
};

/// Fields 3, 9 and 22 of /proc/<pid>/stat; field 2, in brackets, may hold anything.
TaskStat stat_of(pid_t pid) {
  const std::string text = contents(proc(pid, "stat"));
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return {};
  TaskStat stat;
  unsigned long long flags = 0, start_time = 0;
  // Not by a stream: where a Python module carries its own libstdc++, numbers cannot be read from streams in it.
  const int read = std::sscanf(text.c_str() + bracket + 1,
                               " %c %*s %*s %*s %*s %*s %llu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                               &stat.state, &flags, &start_time);
  stat.flags = flags;
  stat.start_time = start_time;
  stat.there = read == 3;
  return stat;
}

bool kill_is_pending(pid_t pid) {
  std::istringstream status(contents(proc(pid, "status")));
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("SigPnd:", 0) != 0 && line.rfind("ShdPnd:", 0) != 0) continue;
    const std::uint64_t pending = std::strtoull(line.c_str() + 7, nullptr, 16);
    if ((pending >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

BootId boot_id() {
  BootId id = {};
  std::string digits = contents("/proc/sys/kernel/random/boot_id");
  digits.erase(std::remove_if(digits.begin(), digits.end(), [](unsigned char c) { return !std::isxdigit(c); }),
               digits.end());
  if (digits.size() != 2 * id.size()) return id;
  for (std::size_t i = 0; i < id.size(); ++i) {
    id[i] = static_cast<std::uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

bool is_this_boot(const std::uint8_t (&id)[16]) {
  const BootId now = boot_id();
  return now != BootId{} && std::equal(now.begin(), now.end(), id);
}

ProcessId process_at(pid_t pid) {
  const TaskStat stat = stat_of(pid);
  return stat.there ? ProcessId{pid, stat.start_time} : ProcessId{};
}

ProcessId this_process() { return process_at(getpid()); }

Life life_of(const ProcessId& process) {
  const TaskStat stat = stat_of(process.pid);
  if (!stat.there || stat.start_time != process.start_time) return Life::gone;
  if (stat.state == 'Z' || stat.state == 'X' || (stat.flags & kExiting) != 0 || kill_is_pending(process.pid)) {
    return wait_for_exit(process, std::chrono::milliseconds(0)) ? Life::gone : Life::dying;
  }
  return Life::alive;
}

bool maps_file(pid_t process, std::uint64_t device, std::uint64_t inode) {
  std::istringstream maps(contents(proc(process, "maps")));
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, " %02x:%02x %lu ", major(device), minor(device),
                static_cast<unsigned long>(inode));
  std::string line;
  while (std::getline(maps, line)) {
    if ((line + " ").find(wanted) != std::string::npos) return true;
  }
  return false;
}

bool wait_for_exit(const ProcessId& process, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const auto same = [&] {
    const TaskStat stat = stat_of(process.pid);
    return stat.there && stat.start_time == process.start_time;
  };
  const int descriptor = system::pidfd_open(process.pid);
  if (descriptor < 0 || !same()) {  // the second: the number may have gone to another process before we opened it
    if (descriptor >= 0) system::close(descriptor);
    while (same()) {  // a kernel without process descriptors
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  int ready = 0;
  do {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ready = system::poll(descriptor, static_cast<int>(std::max<std::int64_t>(0, left.count())));
  } while (ready < 0 && errno == EINTR);
  system::close(descriptor);
  return ready > 0;
}

std::string command_of(pid_t pid) {
  // At most the program, its script, and a module's name after -m: further arguments may be secret.
  const std::string text = contents(proc(pid, "cmdline"));
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, '\0') && words.size() < 3;) words.push_back(word);
  if (words.size() == 3 && words[1] != "-m") words.pop_back();
  std::string command;
  for (std::string& word : words) {
    word.erase(0, word.rfind('/') + 1);
    command += (command.empty() ? "" : " ") + word;
  }
  return command;
}

}  // namespace holdfast::system
