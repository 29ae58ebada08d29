// device_indexes.cpp: the index of a store on the GPUs that its options name: one, or several that share it.
#include <algorithm>
#include <string>
#include <utility>

#include "holdfast/error.hpp"
#include "store/device_side.hpp"
#include "structures/cuckoo/sharded_index.hpp"

namespace holdfast::store {

void require_device_list(const StoreOptions& options, const std::string& label) {
  const std::vector<int>& devices = options.devices;
  if (devices.empty()) return;
  if (options.index != StoreIndex::gpu) {
    throw InvalidArgument(label + " has devices, but its index is not on a GPU: give the index gpu too, or no devices");
  }
  if (devices.size() > cuckoo::kMostShards) {
    throw InvalidArgument(label + " cannot have its index on " + std::to_string(devices.size()) + " GPUs: name up to " +
                          std::to_string(cuckoo::kMostShards));
  }
  for (auto each = devices.begin(); each != devices.end(); ++each) {
    if (*each < 0) {
      throw InvalidArgument(label + " cannot have its index on GPU " + std::to_string(*each) +
                            ": GPUs are numbered from 0");
    }
    if (std::find(devices.begin(), each, *each) != each) {
      throw InvalidArgument(label + " names GPU " + std::to_string(*each) + " twice: name each once");
    }
  }
}

void require_device(int device, int devices) {
  if (device < devices) return;
  throw DeviceError("GPU " + std::to_string(device) + " does not exist: there " +
                    (devices == 1 ? "is 1, number 0" : "are " + std::to_string(devices) + ", numbered from 0"));
}

std::unique_ptr<cuckoo::AnyIndex> make_device_indexes(const std::vector<int>& devices,
                                                      const cuckoo::cpu::CpuOptions& options) {
  if (devices.size() < 2) return make_device_index(options, devices.empty() ? 0 : devices.front());
  cuckoo::cpu::CpuOptions its = options;
  its.capacity = cuckoo::ShardedIndex::share(options.capacity, devices.size());
  its.threads = std::max(1u, options.threads / static_cast<unsigned>(devices.size()));
  std::vector<std::unique_ptr<cuckoo::AnyIndex>> shards;
  shards.reserve(devices.size());
  for (const int device : devices) shards.push_back(make_device_index(its, device));
  return std::make_unique<cuckoo::ShardedIndex>(std::move(shards), options.threads);
}

}  // namespace holdfast::store
