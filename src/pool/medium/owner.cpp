// owner.cpp: the lock on a pool's file, and the note that says who has it. Rule 22.
#include "pool/medium/owner.hpp"

#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sstream>
#include <thread>

#include "core/checksum.hpp"
#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::pool {

namespace {

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return text;
}

using namespace std::chrono_literals;
constexpr auto kDyingLimit = 30s;  // a driver that gives memory back can take seconds
// Between the end of an owner and the end of its lock: a child that it was just forking may hold a copy. Tries, a
// millisecond apart, and not time: on a busy machine this thread may be off its core for longer than that takes.
constexpr int kHandoverTries = 1000;

/// Who the kernel says has locked the file; pid 0 if it does not say.
struct Locker {
  system::ProcessId process;
  bool writes = false;
};

Locker locker_of(const system::FileFacts& facts) {
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%lu", major(facts.device), minor(facts.device),
                static_cast<unsigned long>(facts.inode));
  std::string text;
  system::text("/proc/locks", text);
  std::istringstream locks(text);
  for (std::string line; std::getline(locks, line);) {
    // Number, kind, advisory or not, access, process, file. Not by a stream: process.cpp says why.
    char kind[8] = {}, access[8] = {}, file[64] = {};
    int pid = 0;
    if (std::sscanf(line.c_str(), "%*s %7s %*s %7s %d %63s", kind, access, &pid, file) != 4) continue;
    if (std::strcmp(kind, "FLOCK") == 0 && std::strcmp(file, wanted) == 0 && pid > 0) {
      return {.process = system::process_at(pid), .writes = std::strcmp(access, "WRITE") == 0};
    }
  }
  return {};
}

bool try_lock(const system::File& file, LockKind kind) {
  if (system::flock(file.fd(), (kind == LockKind::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw SystemError(system::system_message(file.path(), "cannot be locked", errno));
}

[[noreturn]] void throw_written(const system::File& file, const std::string& owner, system::Life life) {
  const std::string start = file.path() + " is open for writing by " + owner + ". ";
  if (life == system::Life::dying)
    throw PoolInUse(start + "That process was killed but has not exited yet; try again later.");
  throw PoolInUse(start + "Close it there first: no other process can open a pool that is open for writing.");
}

[[noreturn]] void throw_read(const system::File& file, const std::string& reader) {
  throw PoolInUse(file.path() + " is open for reading by " + reader +
                  ". Close it there, or open it here for reading (in Python mode=\"r\").");
}

[[noreturn]] void throw_own(const system::File& file, bool writes) {
  if (writes) {
    throw ObjectInUse(file.path() + " is open for writing in this process: use what is open, or close it first.");
  }
  throw ObjectInUse(
      file.path() +
      " is open for reading in this process: close it first, or open it again for reading (in Python mode=\"r\").");
}

std::string describe(const system::ProcessId& process) {
  if (process.pid == 0) return "another process";
  return "process " + std::to_string(process.pid) + " (" + printable(system::command_of(process.pid)) + ")";
}

/// Takes the lock. Tries again only while those who hold it are about to be gone.
void take_lock(const system::File& file, LockKind kind) {
  const auto start = std::chrono::steady_clock::now();
  for (int handovers = 0; !try_lock(file, kind);) {
    const auto note = read_note(file);
    const Locker locker = locker_of(file.facts());
    const system::ProcessId holder = note ? process_of(*note) : locker.process;
    const system::Life life = holder.pid == 0 ? system::Life::gone : system::life_of(holder);
    const bool dying = life == system::Life::dying && std::chrono::steady_clock::now() - start < kDyingLimit;
    if (dying || (life == system::Life::gone && handovers++ < kHandoverTries)) {
      if (dying) system::wait_for_exit(holder, 100ms);
      std::this_thread::sleep_for(1ms);
      continue;
    }
    if (holder.pid == getpid()) throw_own(file, note || locker.writes);
    if (note) throw_written(file, describe(*note), life);
    if (locker.writes) throw_written(file, describe(locker.process), life);
    throw_read(file, describe(locker.process));
  }
}

/// A dying process gives its locks back before it has exited, and before its GPU has stopped.
void wait_for_former_owner(const system::File& file) {
  const auto note = read_note(file);
  if (!note || note->pid == static_cast<std::uint32_t>(getpid())) return;
  const system::ProcessId owner = process_of(*note);
  switch (system::life_of(owner)) {
    case system::Life::gone: return;
    case system::Life::dying:
      if (!system::wait_for_exit(owner, kDyingLimit)) throw_written(file, describe(*note), system::Life::dying);
      return;
    case system::Life::alive: {
      // It lost its lock without closing the pool: it runs another program by now, or the descriptor was closed.
      const system::FileFacts facts = file.facts();
      if (system::maps_file(owner.pid, facts.device, facts.inode))
        throw_written(file, describe(*note), system::Life::alive);
    }
  }
}

/// A note that is whole, made on this file and since the machine started; of no process, if its process is 0.
std::optional<OwnerNote> read_left_note(const system::File& file) {
  OwnerNote note = {};
  if (file.read(&note, sizeof note, kOwnerOffset) != sizeof note) return std::nullopt;
  if (note.magic != kOwnerMagic || note.checksum != checksum(&note, offsetof(OwnerNote, checksum))) return std::nullopt;
  const system::FileFacts facts = file.facts();
  if (note.device != facts.device || note.inode != facts.inode || !system::is_this_boot(note.boot_id))
    return std::nullopt;
  return note;
}

}  // namespace

OwnerNote make_note(const system::FileFacts& file) {
  OwnerNote note = {};
  const system::ProcessId self = system::this_process();
  note.magic = kOwnerMagic;
  note.pid = static_cast<std::uint32_t>(self.pid);
  note.start_time = self.start_time;
  const system::BootId boot = system::boot_id();
  std::memcpy(note.boot_id, boot.data(), boot.size());
  note.opened = static_cast<std::uint64_t>(std::time(nullptr));
  note.device = file.device;
  note.inode = file.inode;
  system::command_of(self.pid).copy(note.command, sizeof note.command - 1);
  seal(note);
  return note;
}

void seal(OwnerNote& note) { note.checksum = checksum(&note, offsetof(OwnerNote, checksum)); }

std::optional<OwnerNote> read_note(const system::File& file) {
  const auto note = read_left_note(file);
  return note && note->pid != 0 ? note : std::nullopt;
}

bool sync_has_failed(const system::File& file) {
  const auto note = read_left_note(file);
  return note && note->sync_failed != 0;
}

std::string describe(const OwnerNote& note) {
  std::string command(note.command, strnlen(note.command, sizeof note.command));
  std::replace_if(
      command.begin(), command.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  const auto opened = static_cast<std::time_t>(note.opened);
  const std::time_t now = std::time(nullptr);
  std::tm then = {}, today = {};
  localtime_r(&opened, &then);
  localtime_r(&now, &today);
  const bool is_today = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
  char since[64] = "";
  std::strftime(since, sizeof since, is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &then);
  return "process " + std::to_string(note.pid) + " (" + (command.empty() ? "" : command + ", ") + "since " + since +
         ")";
}

void lock(const system::File& file, LockKind kind) {
  take_lock(file, kind);
  wait_for_former_owner(file);
}

system::File open_locked(const std::string& path, bool writable, LockKind kind) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    system::File file = system::File::open(path, writable);
    lock(file, kind);
    system::FileFacts named;
    if (system::look_at(path, &named) == system::AtPath::file && named.same_file(file.facts())) return file;
  }
  throw PoolInUse(path + " is being replaced again and again by another process; stop that, then open it");
}

}  // namespace holdfast::pool
