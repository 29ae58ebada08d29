// cases.cpp: children that run cases, and the parent that watches them.
#include "cases.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace holdfast::test::corrupt {
namespace {

constexpr std::size_t kMostWrong = 12;

/// What the child tells its parent.
struct Board {
  std::atomic<std::uint64_t> next;  ///< the case that runs, or is next
  std::atomic<std::uint64_t> opened, reported, wrong;
  std::uint64_t wrong_case[kMostWrong];
  char wrong_text[kMostWrong][400];
};

void note(Board& board, std::uint64_t number, const std::string& what) {
  const std::uint64_t at = board.wrong.load();
  if (at >= kMostWrong) return;
  board.wrong_case[at] = number;
  std::snprintf(board.wrong_text[at], sizeof(board.wrong_text[at]), "%s", what.c_str());
  board.wrong.store(at + 1);
}

void run_in_child(Board& board, std::uint64_t count, const std::function<Outcome(std::uint64_t)>& run) {
  for (std::uint64_t i = board.next.load(); i < count && board.wrong.load() < kMostWrong; board.next.store(++i)) {
    const Outcome outcome = run(i);
    board.opened += outcome.opened ? 1 : 0;
    board.reported += outcome.reported ? 1 : 0;
    if (!outcome.wrong.empty()) note(board, i, outcome.wrong);
  }
}

/// Waits for the child's end; kills it if it stands still. Returns what is wrong with its end, or "".
std::string watch(const Board& board, pid_t child) {
  std::uint64_t last = board.next.load();
  int still = 0, status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    usleep(1000);
    const std::uint64_t now = board.next.load();
    still = now == last ? still + 1 : 0;
    last = now;
    if (still < 200'000) continue;  // minutes: a case takes milliseconds, but the machine may be busy
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return "hangs";
  }
  if (WIFSIGNALED(status)) return "crashed by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "ended its process with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Tally run_cases(std::uint64_t count, const std::function<Outcome(std::uint64_t)>& run,
                const std::function<std::string(std::uint64_t)>& name) {
  void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
  Board& board = *new (at) Board{};
  while (board.next.load() < count && board.wrong.load() < kMostWrong) {
    const pid_t child = fork();
    if (child == 0) {
      run_in_child(board, count, run);
      _exit(0);
    }
    if (const std::string wrong = watch(board, child); !wrong.empty()) {
      note(board, board.next.load(), wrong);
      board.next += 1;
    }
  }
  Tally tally{board.next.load(), board.opened.load(), board.reported.load(), {}};
  for (std::uint64_t i = 0; i < board.wrong.load(); ++i) {
    tally.wrong.push_back("case " + std::to_string(board.wrong_case[i]) + " (" + name(board.wrong_case[i]) +
                          "): " + board.wrong_text[i]);
  }
  munmap(at, sizeof(Board));
  return tally;
}

bool is_long() {
  const char* value = std::getenv("HOLDFAST_LONG");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

}  // namespace holdfast::test::corrupt
