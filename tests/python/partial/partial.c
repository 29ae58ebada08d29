// partial.c: preloaded, it makes every read and write of a file in the folder PARTIAL_IN transfer a part of its bytes, and leaves in
// PARTIAL_COUNTS how many reads and how many writes it has cut short.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_ulong reads, writes;

static int is_watched(int fd) {
  const char* const folder = getenv("PARTIAL_IN");
  char link[32], path[4096];
  const int error = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path);
  errno = error;
  return folder != NULL && length > (ssize_t)strlen(folder) && strncmp(path, folder, strlen(folder)) == 0;
}

/// How many of `bytes` are transferred: less than all, but of one byte.
static size_t part_of(int fd, size_t bytes, atomic_ulong* cut) {
  if (bytes < 2 || !is_watched(fd)) return bytes;
  const size_t sizes[] = {1, 511, bytes / 2, 4096, bytes - bytes / 8 - 1};
  const size_t part = sizes[(*cut)++ % 5];
  return part < bytes ? part : bytes / 2;
}

#define NEXT(name, ...) ((ssize_t(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void* to, size_t bytes) {
  return NEXT(read, int, void*, size_t)(fd, to, part_of(fd, bytes, &reads));
}
ssize_t write(int fd, const void* from, size_t bytes) {
  return NEXT(write, int, const void*, size_t)(fd, from, part_of(fd, bytes, &writes));
}
ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  return NEXT(pread, int, void*, size_t, off_t)(fd, to, part_of(fd, bytes, &reads), at);
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return NEXT(pwrite, int, const void*, size_t, off_t)(fd, from, part_of(fd, bytes, &writes), at);
}
ssize_t pread64(int fd, void* to, size_t bytes, off64_t at) {
  return NEXT(pread64, int, void*, size_t, off64_t)(fd, to, part_of(fd, bytes, &reads), at);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t at) {
  return NEXT(pwrite64, int, const void*, size_t, off64_t)(fd, from, part_of(fd, bytes, &writes), at);
}

/// A part of the first piece that has more than a byte, and all before it.
static ssize_t vector(int fd, const struct iovec* pieces, int n, atomic_ulong* cut,
                      ssize_t (*next)(int, const struct iovec*, int)) {
  for (int i = 0; i < n && is_watched(fd); ++i) {
    const size_t part = part_of(fd, pieces[i].iov_len, cut);
    if (part == pieces[i].iov_len) continue;
    struct iovec some[1024];
    memcpy(some, pieces, (size_t)(i + 1) * sizeof *pieces);
    some[i].iov_len = part;
    return next(fd, some, i + 1);
  }
  return next(fd, pieces, n);
}
ssize_t readv(int fd, const struct iovec* pieces, int n) {
  return vector(fd, pieces, n, &reads, NEXT(readv, int, const struct iovec*, int));
}
ssize_t writev(int fd, const struct iovec* pieces, int n) {
  return vector(fd, pieces, n, &writes, NEXT(writev, int, const struct iovec*, int));
}

__attribute__((destructor)) static void leave_counts(void) {
  const char* const path = getenv("PARTIAL_COUNTS");
  FILE* const file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%lu %lu\n", (unsigned long)reads, (unsigned long)writes);
  fclose(file);
}
