// owner.hpp: who has a pool open for writing: a note in the pool, for messages and for waiting. The lock decides, not the note.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "pool/superblock.hpp"
#include "system/file.hpp"
#include "system/process.hpp"

namespace holdfast::pool {

inline constexpr std::uint64_t kOwnerMagic = 0x5245'4e57'4f20'4648;  // "HF OWNER", little endian

/// The note as it lies in the pool (docs/format.md, "Owner"). All zero: none.
struct OwnerNote {
  std::uint64_t magic;
  std::uint32_t pid;
  std::uint32_t sync_failed;  ///< 1: the file is to be written again, all of it, before it is called clean
  std::uint64_t start_time;   ///< of the process, in clock ticks after boot
  std::uint8_t boot_id[16];
  std::uint64_t opened;         ///< seconds since 1970
  std::uint64_t device, inode;  ///< of the file, so that a copy of a pool has no owner
  char command[184];            ///< a few words of its command line, zero-padded
  std::uint64_t checksum;       ///< of all bytes before it
};
static_assert(sizeof(OwnerNote) == 256 && offsetof(OwnerNote, checksum) == 248);
static_assert(offsetof(OwnerNote, boot_id) == 24 && offsetof(OwnerNote, command) == 64);

/// The note of this process for `file`.
OwnerNote make_note(const system::FileFacts& file);
/// After a change of a note.
void seal(OwnerNote& note);
/// The note in an open pool, if there is one, whole, made on this file and since the machine started.
std::optional<OwnerNote> read_note(const system::File& file);
/// True if a sync of the file failed in this run of the machine, in a process that has it open no more.
bool sync_has_failed(const system::File& file);
inline system::ProcessId process_of(const OwnerNote& note) { return {static_cast<pid_t>(note.pid), note.start_time}; }
/// "process 4711 (python train.py, since 14:02)".
std::string describe(const OwnerNote& note);

enum class LockKind { exclusive, shared };

/// Locks the file, and waits until a process that had it open for writing and is dying has wholly exited: its GPU may still
/// be storing (rule 22). The lock ends with the descriptor. Throws PoolInUse, which names the owner, or
/// ObjectInUse if that is this process.
void lock(const system::File& file, LockKind kind);

/// Opens and locks the file that has the name, even if another one took the name between the two. Throws as File::open and lock.
system::File open_locked(const std::string& path, bool writable, LockKind kind);

}  // namespace holdfast::pool
