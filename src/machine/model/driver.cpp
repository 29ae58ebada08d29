// driver.cpp: compiles src/machine/cpu/driver_impl.hpp once for each flavour of the model.
#include "machine/model/driver.hpp"

#include "machine/model/memory.hpp"
// After the policy that it is compiled with:
#include "machine/cpu/driver_impl.hpp"

namespace holdfast::machine::model {

namespace {

const memory::Persist kPersist{};

template <class F>
auto with_flavour(Flavour flavour, const F& act) {
  switch (flavour) {
    case Flavour::process: return act(std::integral_constant<Flavour, Flavour::process>{});
    case Flavour::power: return act(std::integral_constant<Flavour, Flavour::power>{});
    case Flavour::gpu: break;
  }
  return act(std::integral_constant<Flavour, Flavour::gpu>{});
}

}  // namespace

std::unique_ptr<cpu::Driver> make_model_driver(Flavour flavour, const index::RuntimeShape& shape) {
  return with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) -> std::unique_ptr<cpu::Driver> {
    return std::make_unique<cpu::DriverImpl<ModelTile<F>, index::RuntimeShape, true>>(shape, kPersist);
  });
}

index::Outcome apply_run(Flavour flavour, const index::View<index::RuntimeShape>& view, const index::Rows& rows,
                         unsigned count, std::uint64_t key, const index::Permits& permits, cpu::Tally& tally) {
  return with_flavour(flavour, [&]<Flavour F>(std::integral_constant<Flavour, F>) {
    static cpu::Epochs epochs;
    static cpu::Cells none(epochs);
    static cpu::CellPurse purse(none);
    const cpu::CpuMemory<ModelTile<F>, true> memory(kPersist, purse, tally);
    static constexpr std::uint32_t kIndices[] = {0, 1, 2, 3};
    const index::Run<std::uint32_t> run{kIndices, 0, count};
    for (;;) {
      const auto outcome = index::apply_run(ModelTile<F>{}, memory, view, rows, run,
                                            index::Candidates<index::RuntimeShape>(view, key), permits);
      if (outcome != index::Outcome::claim_missed) return outcome;
      ++tally.claim_misses;
    }
  });
}

}  // namespace holdfast::machine::model
