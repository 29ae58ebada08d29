// library.cpp: loads a library and calls its table.
#include "structures/originals/library.hpp"

#include <utility>

#include "holdfast/error.hpp"
#include "peers/libraries.hpp"

namespace holdfast::bench::structures {

namespace {

class OriginalTable final : public Subject {
 public:
  OriginalTable(const HoldfastOriginal& original, const Plan& plan, const Emulation& emulation)
      : original_(original),
        emulation_(emulation),
        persistence_{this,
                     [](void* self, const void* address, std::size_t bytes) {
                       static_cast<OriginalTable*>(self)->emulation_.flush(address, bytes);
                     },
                     [](void* self) { static_cast<OriginalTable*>(self)->emulation_.fence(); }},
        table_(original.create(std::uint64_t{1} << plan.bits, &persistence_)) {
    if (table_ == nullptr) {
      throw Error(std::string(original.name) + " made no table with 2^" + std::to_string(plan.bits) +
                  " cells: measure smaller tables with --bits");
    }
  }
  ~OriginalTable() override { original_.destroy(table_); }

  Status insert(const std::uint64_t* key, const std::uint64_t* value) override {
    const bool is_done = original_.insert(table_, *key, *value) == 1;
    if (is_done) ++size_;
    return is_done ? Status::inserted : Status::no_space;
  }
  Status find(const std::uint64_t* key, std::uint64_t* value) override {
    return original_.find(table_, *key, value) == 1 ? Status::found : Status::not_found;
  }
  Status erase(const std::uint64_t* key) override {
    const bool is_done = original_.erase(table_, *key) == 1;
    if (is_done) --size_;
    return is_done ? Status::erased : Status::not_found;
  }
  std::uint64_t size() override { return size_; }
  std::uint64_t cells() override { return original_.cells(table_); }

 private:
  const HoldfastOriginal& original_;
  const Emulation& emulation_;
  const HoldfastPersistence persistence_;
  void* const table_;
  std::uint64_t size_ = 0;
};

}  // namespace

const HoldfastOriginal& load_original(const std::string& path) {
  void* const function = library_function(path, "holdfast_original", "bench/structures/originals/original.hpp");
  return *reinterpret_cast<HoldfastOriginalFunction*>(function)();
}

std::vector<const HoldfastOriginal*> load_originals(const Setup& setup, Json& peers) {
  std::vector<const HoldfastOriginal*> originals;
  for (const std::string& path : setup.originals) {
    originals.push_back(&load_original(path));
    peers.push_back(about(*originals.back()));
  }
  return originals;
}

std::unique_ptr<Subject> original_subject(const HoldfastOriginal& original, const Plan& plan,
                                          const Emulation& emulation) {
  return std::make_unique<OriginalTable>(original, plan, emulation);
}

}  // namespace holdfast::bench::structures
