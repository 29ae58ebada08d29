// process.cpp: starting, killing and waiting for children.
#include "proof/kill/process.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace holdfast::proof::kill {

std::string this_program() { return "/proc/self/exe"; }

std::string program_with_failpoints() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "holdfast-kill-child";
  if (!std::filesystem::exists(program)) {
    throw std::runtime_error(program.string() + " is missing: build it, or ask for --stops 0");
  }
  return program.string();
}

Child::Child(const std::string& program, const std::string& role, int shared_descriptor) {
  std::string path = program, flag = "--child", name = role, memory = std::to_string(shared_descriptor);
  char* arguments[] = {path.data(), flag.data(), name.data(), memory.data(), nullptr};
  const int error = posix_spawn(&pid_, path.c_str(), nullptr, nullptr, arguments, environ);
  if (error != 0) throw std::runtime_error(std::string("cannot start a child: ") + std::strerror(error));
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(status_, other.status_);
  return *this;
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill();
  wait();
}

void Child::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void Child::wait() {
  if (pid_ > 0) waitpid(pid_, &status_, 0);
  pid_ = -1;
}

bool Child::ended() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ <= 0;
}

bool Child::was_killed() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

bool Child::failed() const { return !was_killed() && !(WIFEXITED(status_) && WEXITSTATUS(status_) == 0); }

std::string Child::fate() const {
  return WIFSIGNALED(status_) ? "signal " + std::to_string(WTERMSIG(status_))
                              : "exit status " + std::to_string(WEXITSTATUS(status_));
}

}  // namespace holdfast::proof::kill
