// open_object.hpp: an object of a pool that is open and is no table, as its pool knows it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pool/edit.hpp"
#include "pool/kinds/object_kind.hpp"
#include "pool/medium/fork.hpp"

namespace holdfast::table {

class OpenObject {
 public:
  virtual ~OpenObject() = default;
  virtual std::uint32_t number() const = 0;
  virtual const std::string& path() const = 0;
  virtual bool is_open() const = 0;
  /// As its user would close it: throws InvalidArgument where that is too early. In a forked child it waits for nobody.
  virtual void close() = 0;

 protected:
  /// In a process forked from the one that opened it.
  bool forked() const { return !process_.is_this(); }

 private:
  const memory::OwningProcess process_;
};

/// What makes one within an edit, and what opens one; `label` is how messages name it.
using MakeObject = std::function<std::shared_ptr<OpenObject>(memory::Edit&, const std::shared_ptr<memory::PoolFile>&,
                                                             const std::string& label)>;
using ReopenObject = std::function<std::shared_ptr<OpenObject>(const std::shared_ptr<memory::PoolFile>&,
                                                               const memory::ObjectEntry&, const std::string& label)>;

}  // namespace holdfast::table
