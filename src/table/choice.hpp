// choice.hpp: which machine works on a table. docs/architecture.md, "Which path a batch takes".
#pragma once

#include <memory>
#include <string>

#include "structures/gphash/machine.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::table {

struct Choice {
  int device = -1;  ///< a CUDA ordinal, or -1 for the CPU
  std::string why;
};

/// Throws InvalidArgument or DeviceError if there can be no such device, whatever the pool: before one is made.
void check_device(const std::string& device);

/// `device` is "auto", "cpu", "cuda" or "cuda:N". Throws InvalidArgument, DeviceError.
Choice choose_machine(const std::string& device, const pool::PoolFile& pool);

std::unique_ptr<gphash::Machine> make_machine(gphash::TableObject& table, const Choice& choice,
                                              gphash::MachineOptions options);

}  // namespace holdfast::table
