// pool_name.hpp: the name that a pool gets when it is whole: of nothing, or of a pool that it replaces in one step.
#pragma once

#include <string>

#include "holdfast/pool.hpp"
#include "system/named_file.hpp"

namespace holdfast::pool {

/// What has the name is locked, if it may be replaced, until the new file has it.
class PoolName {
 public:
  /// Throws PoolExists (without `overwrite`, or what is there is no pool), PoolInUse, ObjectInUse, MediumError (no regular file, or one that
  /// has no name in a folder).
  PoolName(const std::string& path, bool overwrite);

  const std::string& target() const { return target_; }
  /// Gives it to a file that is whole, and puts it on the device, if `medium` has one. A file that another process put there
  /// stays. Throws PoolExists, SystemError.
  void give_to(const system::File& file, Medium medium, system::TemporaryName& temporary) const;

 private:
  void settle_names(const system::File& file) const noexcept;

  const std::string target_;
  system::File replaced_;
};

}  // namespace holdfast::pool
