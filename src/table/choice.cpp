// choice.cpp: which machine works on a table.
#include "table/choice.hpp"

#include "holdfast/table.hpp"

namespace holdfast {

#ifndef HOLDFAST_WITH_CUDA
int cuda_devices(std::string* why) {
  if (why) *why = "this build has no CUDA";
  return 0;
}
#endif

namespace table {

namespace {

constexpr const char* kDevices = "give \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"";

/// The N of "cuda" (0) or "cuda:N". Throws InvalidArgument for anything else.
int ordinal(const std::string& device) {
  if (device == "cuda") return 0;
  const std::string digits = device.rfind("cuda:", 0) == 0 ? device.substr(5) : "";
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) {
    throw InvalidArgument("device is \"" + device + "\": " + kDevices);
  }
  return std::stoi(digits);
}

bool is_read_only(const pool::PoolFile& pool) { return pool.access() == pool::Access::read_only; }

Choice choose_automatically(const pool::PoolFile& pool) {
  if (is_read_only(pool)) return {-1, "read-only pools are searched on the CPU"};
  if (pool.medium().medium == Medium::file)
    return {-1, "a pool on an ordinary file system works on the CPU: CUDA cannot map it; a GPU needs tmpfs or DAX"};
  std::string why;
  return cuda_devices(&why) > 0 ? Choice{0, "the first GPU"} : Choice{-1, why};
}

}  // namespace

void check_device(const std::string& device) {
  if (device == "cpu" || device == "auto") return;
  const int number = ordinal(device);
  std::string why;
  const int devices = cuda_devices(&why);
  if (devices == 0) throw DeviceError("device \"" + device + "\" cannot be had: " + why + ". Use device=\"cpu\"");
  if (number >= devices) {
    throw DeviceError("device \"" + device + "\" does not exist: there are " + std::to_string(devices) +
                      ", numbered from 0");
  }
}

Choice choose_machine(const std::string& device, const pool::PoolFile& pool) {
  check_device(device);
  if (device == "cpu") return {-1, "asked for"};
  if (device == "auto") return choose_automatically(pool);
  if (is_read_only(pool)) {
    throw DeviceError(pool.path() + " is open read-only, which the GPU does not support: use device=\"cpu\"");
  }
  return {ordinal(device), "asked for"};
}

std::unique_ptr<gphash::Machine> make_machine(gphash::TableObject& table, const Choice& choice,
                                              gphash::MachineOptions options) {
#ifdef HOLDFAST_WITH_CUDA
  if (choice.device >= 0) {
    options.device = choice.device;
    return gphash::make_cuda_machine(table, options);
  }
#endif
  static_cast<void>(choice);
  return gphash::make_cpu_machine(table, options);
}

}  // namespace table
}  // namespace holdfast
