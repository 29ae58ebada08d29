// shared.hpp: the memory that oracle and children share. It is the oracle's own, so a child's stores outlive the child.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "core/failpoint.hpp"

namespace holdfast::proof::kill {

template <std::size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

/// Where the writers of the pool at `path` put snapshots of it.
inline std::string snapshot_of(const std::string& path) { return path + "-snapshot"; }

/// How far the child that opens the pool after a kill has come.
enum class Stage : std::uint32_t { none = 0, ready = 1, opening = 2, open = 3, verified = 4, failed = 5 };

/// How a child that verified the pool goes away.
enum class Ending : std::uint32_t { close = 0, exit = 1, wait_for_kill = 2 };

/// What every child that reopened a pool reports; what it found in it is its subject's.
struct Recovered {
  std::uint64_t missing;  ///< 1: there was no pool
  std::uint64_t in_use_retries;
  std::uint64_t repaired, moved, rehashed;
  std::uint64_t address;  ///< of a function of this process, to show that addresses differ
  char check_errors[2048];
};

/// The common part; that of the subject follows it.
struct Shared {
  alignas(failpoint::kPageBytes) failpoint::Page failpoints;  ///< for children of the build that has some
  alignas(failpoint::kPageBytes) char path[512];
  char device[16];  ///< of the writer
  char recovery_device[16];
  std::uint32_t life;
  std::uint32_t create;    ///< the writer creates the pool, else it opens it
  std::uint32_t again_ms;  ///< the recovering child looks again after so long; 0: it does not
  std::uint32_t wait;      ///< the recovering child waits for `go`
  Ending ending;
  std::atomic<std::uint32_t> go;       ///< futex: the recovering child may open the pool
  std::atomic<std::uint32_t> stage;    ///< futex: a Stage of the recovering child
  std::atomic<std::uint32_t> writing;  ///< the writer: 1 while it creates or opens, 2 when its threads run
  std::uint64_t opening_ns, opened_ns;
  char error[1024];  ///< of a child; empty: none
  Recovered recovered;
  std::uint64_t part_bytes;  ///< of the subject's part

  /// What the subject shares with its children: of the type that it was registered with.
  template <class Part>
  Part& part() {
    static_assert(std::is_trivially_destructible_v<Part> && alignof(Part) <= failpoint::kPageBytes);
    assert(sizeof(Part) == part_bytes);
    return *reinterpret_cast<Part*>(this + 1);
  }
  template <class Part>
  const Part& part() const {
    return const_cast<Shared*>(this)->part<Part>();
  }
};

/// Makes the shared memory, all zeros, with so much for the subject, and returns its descriptor, which children inherit.
Shared* make_shared_memory(int& descriptor, std::size_t part_bytes);
/// Maps it in a child.
Shared* map_shared_memory(int descriptor);

/// Maps the page of failpoints where they expect it.
void map_failpoints(int descriptor);

/// Waits until `word` is not `value` any more, or `timeout_ms` have passed; returns whether it changed.
bool wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, int timeout_ms);
/// Sets `word` and wakes all waiters, in any process.
void set_and_wake(std::atomic<std::uint32_t>& word, std::uint32_t value);

/// The names of files that begin like that of the pool at `path`, with a dot behind it.
std::vector<std::string> beside(const std::string& path);

std::uint64_t now_ns();
/// Stands for a value in a journal; never 0, which stands for an absent key.
std::uint64_t digest(const void* value, std::size_t bytes);
/// Stands for a value with its score.
std::uint64_t item_digest(const void* value, std::size_t bytes, std::uint64_t score);

}  // namespace holdfast::proof::kill
