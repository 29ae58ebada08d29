// library.cpp: loads a library and calls its table.
#include "dramhit/originals/library.hpp"

#include "holdfast/error.hpp"
#include "peers/libraries.hpp"

namespace holdfast::bench::dramhit {

namespace {

class VolatileCaller final : public Caller {
 public:
  VolatileCaller(const HoldfastVolatile& original, void* table)
      : original_(original), caller_(original.caller(table)) {}
  ~VolatileCaller() override { original_.release(caller_); }

  void run(Round& round) override {
    if (round.op != Op::find) {
      const auto change = round.op == Op::accumulate ? original_.add : original_.put;
      change(caller_, round.keys.data(), round.values.data(), round.size);
      return;
    }
    found_.assign(round.size, 0);
    original_.get(caller_, round.keys.data(), round.out.data(), found_.data(), round.size);
    for (std::size_t i = 0; i < round.size; ++i) round.statuses[i] = found_[i] == 1 ? Status::found : Status::not_found;
  }

 private:
  const HoldfastVolatile& original_;
  void* const caller_;
  std::vector<unsigned char> found_;
};

class VolatileSubject final : public Subject {
 public:
  VolatileSubject(const HoldfastVolatile& original, std::uint64_t items)
      : original_(original), table_(original.create(items)) {
    if (table_ == nullptr)
      throw Error(std::string(original.name) + " made no table: measure smaller ones with --peer-items");
  }
  ~VolatileSubject() override { original_.destroy(table_); }
  std::unique_ptr<Caller> caller(bool) override { return std::make_unique<VolatileCaller>(original_, table_); }
  bool is_silent() const override { return true; }
  bool adds() const override { return original_.add != nullptr; }

 private:
  const HoldfastVolatile& original_;
  void* const table_;
};

}  // namespace

const HoldfastVolatile& load_volatile(const std::string& path) {
  void* const function = library_function(path, "holdfast_volatile", "bench/dramhit/originals/original.hpp");
  return *reinterpret_cast<HoldfastVolatileFunction*>(function)();
}

std::unique_ptr<Subject> volatile_subject(const HoldfastVolatile& original, std::uint64_t items) {
  return std::make_unique<VolatileSubject>(original, items);
}

}  // namespace holdfast::bench::dramhit
