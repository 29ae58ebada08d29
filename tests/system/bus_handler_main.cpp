// bus_handler_main.cpp: a program with a handler of SIGBUS of its own, set before it opens a pool: the handler still gets what is not the pool's.
// Exit status: 0 if all is as it should be.
#include <sys/mman.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "holdfast/table.hpp"

namespace {

sigjmp_buf jump;
volatile sig_atomic_t own = 0;

void* page = nullptr;

void handle(int, siginfo_t* info, void*) {
  if (info->si_addr == page) own = own + 1;
  siglongjmp(jump, 1);
}

}  // namespace

int main(int, char** argv) {
  struct sigaction mine = {};
  mine.sa_sigaction = handle;
  mine.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &mine, nullptr);
  const std::string path = argv[1];
  auto table =
      holdfast::Table::create(path, {.shape = {.capacity = 100'000}, .runtime = {.device = "cpu"}, .overwrite = true});

  std::FILE* const file = std::fopen((path + ".other").c_str(), "w+");
  if (ftruncate(fileno(file), 4096) != 0) return 2;
  page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  if (page == MAP_FAILED || ftruncate(fileno(file), 0) != 0) return 2;
  if (sigsetjmp(jump, 1) == 0) *static_cast<volatile char*>(page) = 1;
  if (own != 1) return 3;

  if (truncate(path.c_str(), 512 << 10) != 0) return 2;
  try {
    static_cast<void>(table.check());
    return 4;
  } catch (const holdfast::MediumError&) {
  }
  return own == 1 ? 0 : 5;
}
