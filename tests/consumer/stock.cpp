// stock.cpp: a user's program: the stock of a shop, its prices and the names of its goods. mistakes.cmake plants mistakes in it,
// which must not compile. Usage: stock FOLDER
#include <holdfast/memory_table.hpp>
#include <holdfast/table.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <numeric>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using Code = std::uint64_t;

/// What a code costs, and in which of three shops it is on sale.
struct Price {
  double euros = 0;
  std::array<std::uint32_t, 3> shops{};
};

/// Amounts by code, prices by code, and codes by name.
class Shop {
 public:
  Shop(const std::filesystem::path& folder, const holdfast::Runtime& runtime)
      : amounts_(holdfast::Table::create(folder / "amounts.hold",
                                         {.shape = {.value_bytes = 8, .score = holdfast::Score::step},
                                          .runtime = runtime,
                                          .gpu = {.cache = {.bucket_ratio = 0.5}}})),
        prices_(holdfast::Table::create(
            folder / "prices.hold", {.shape = {.value_bytes = sizeof(Price), .capacity = 10'000}, .runtime = runtime})),
        codes_(holdfast::Table::create(folder / "codes.hold", {.shape = {.key_bytes = holdfast::kVariableBytes,
                                                                         .value_bytes = holdfast::kVariableBytes},
                                                               .runtime = runtime})) {}

  /// Adds goods; how many codes are new.
  std::uint64_t receive(const std::vector<Code>& codes, std::span<const std::int64_t> amounts,
                        const std::vector<Price>& prices) {
    prices_.insert_or_assign(codes, prices);
    return amounts_.accumulate(codes, amounts).of(holdfast::Status::inserted);
  }

  void name(const std::vector<std::string>& names, const std::vector<Code>& codes) {
    std::vector<std::string> texts;
    for (const Code code : codes) texts.push_back(std::to_string(code));
    codes_.insert_or_assign(names, texts);
  }

  Code code_of(const std::string& name) {
    holdfast::Blobs found;
    codes_.find(std::array{name}, found);
    return found.has(0) ? std::stoull(std::string(found[0])) : ~Code{0};
  }

  /// What there is of these codes is worth so many euros.
  double worth(const std::vector<Code>& codes) {
    std::vector<std::int64_t> amounts(codes.size());
    std::vector<Price> prices(codes.size());
    amounts_.find(codes, amounts);
    prices_.find(codes, prices);
    double sum = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) sum += static_cast<double>(amounts[i]) * prices[i].euros;
    return sum;
  }

  /// How many codes have been sold out, or none if `stop` comes first.
  std::uint64_t sold_out(std::stop_token stop) {
    holdfast::Selection empty;
    empty.where = [](const void*, const void* value) { return *static_cast<const std::int64_t*>(value) == 0; };
    empty.stop = std::move(stop);
    return amounts_.size_if(empty);
  }

  /// The shop goes to a new owner, with its tables.
  holdfast::Table sell() && { return std::move(amounts_); }

 private:
  holdfast::Table amounts_, prices_, codes_;
};

}  // namespace

int main(int, char** argv) try {
  std::vector<Code> codes(1'000);
  std::iota(codes.begin(), codes.end(), 0);
  std::vector<std::int64_t> amounts(codes.size(), 5);
  amounts[7] = 0;
  Shop shop(argv[1], {.device = "cpu"});
  const auto added = shop.receive(codes, amounts, std::vector<Price>(codes.size(), Price{0.5, {1, 1, 0}}));
  shop.name({"kelp", "dulse"}, {17, 4});
  const std::stop_source patience;
  std::printf("%llu %llu %g %llu\n", static_cast<unsigned long long>(added),
              static_cast<unsigned long long>(shop.code_of("dulse")), shop.worth(codes),
              static_cast<unsigned long long>(shop.sold_out(patience.get_token())));
  holdfast::MemoryTable visits({.capacity = 100});
  visits.accumulate(codes, std::vector<std::uint64_t>(codes.size(), 1));
  const holdfast::Table amounts_of_others = std::move(shop).sell();
  std::printf("%s\n", amounts_of_others.stats().machine.device.c_str());
  return added == 1'000 && amounts_of_others.size() == 1'000 && visits.size() == 1'000 ? 0 : 1;
} catch (const holdfast::Error& error) {
  std::fprintf(stderr, "stock: %s\n", error.what());
  return 1;
}
