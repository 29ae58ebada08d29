// named_file.hpp: a file that is written under a temporary name, and gets its own when it is whole; nothing is replaced by accident.
#pragma once

#include <string>

#include "system/file.hpp"

namespace holdfast::system {

/// Where the name really is, so that a link is followed and not replaced.
std::string resolve(const std::string& path);

/// The name of a temporary file: gone at the end unless `path` was emptied.
struct TemporaryName {
  std::string path;
  ~TemporaryName();
};

/// An empty file beside `target`, 0600, of a name that only this process uses, and locked: so it is no leftover. `name`
/// is its name. Throws as File::make; messages are about `target`.
File make_temporary(const std::string& target, TemporaryName& name);

/// Removes temporary files of `target` that killed processes left: those whose locks can be taken. What cannot be looked
/// at, or removed, stays.
void remove_leftovers(const std::string& target) noexcept;

/// Gives the file its name, in place of the file `replaced`, or of none if that is null: another process that took the name meanwhile keeps
/// it. Throws PoolExists, SystemError. What was replaced, or a second name, may then have the temporary one.
void give_name(const std::string& temporary, const std::string& target, const FileFacts* replaced);

/// Puts the folder of `path`, where `file` is, on its device, so that the name survives a power cut too. Throws SystemError; the
/// name is there then, but may not be after a power cut.
void sync_folder(const std::string& path, const File& file);

}  // namespace holdfast::system
