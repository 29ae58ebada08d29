// order.c: records, in the order of the calls, what changes files, what puts them on their device, and what names them.
// Preloaded into a process: ORDER_LOG is the file of the record. A line is
//   W inode         a write to a file
//   S inode         fsync or fdatasync of a file, or of a folder
//   R inode path    the file has the name from now on
//   M text          access("/mark/text"), by which a test says where it is
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void note(const char* form, ...) {
  static int record = -1;
  if (record < 0) record = open(getenv("ORDER_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  char line[PATH_MAX + 64];
  va_list given;
  va_start(given, form);
  const int length = vsnprintf(line, sizeof line, form, given);
  va_end(given);
  NEXT(write)(record, line, (size_t)length);
}

static void note_file(char what, int file) {
  struct stat facts;
  if (fstat(file, &facts) == 0 && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode))) {
    note("%c %lu\n", what, (unsigned long)facts.st_ino);
  }
}

static void note_name(int folder, const char* path, int to_folder, const char* to) {
  struct stat facts;
  char where[PATH_MAX] = "";
  if (to[0] != '/' && to_folder != AT_FDCWD) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", to_folder);
    const ssize_t length = readlink(link, where, sizeof where - 2);
    if (length > 0) strcpy(where + length, "/");
  }
  if (fstatat(folder, path, &facts, AT_SYMLINK_NOFOLLOW) == 0)
    note("R %lu %s%s\n", (unsigned long)facts.st_ino, where, to);
}

ssize_t write(int file, const void* from, size_t bytes) {
  note_file('W', file);
  return NEXT(write)(file, from, bytes);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  note_file('W', file);
  return NEXT(pwrite)(file, from, bytes, at);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off_t at) {
  note_file('W', file);
  return NEXT(pwrite64)(file, from, bytes, at);
}
ssize_t writev(int file, const struct iovec* from, int parts) {
  note_file('W', file);
  return NEXT(writev)(file, from, parts);
}
ssize_t pwritev(int file, const struct iovec* from, int parts, off_t at) {
  note_file('W', file);
  return NEXT(pwritev)(file, from, parts, at);
}
int ftruncate(int file, off_t bytes) {
  note_file('W', file);
  return NEXT(ftruncate)(file, bytes);
}
int ftruncate64(int file, off_t bytes) {
  note_file('W', file);
  return NEXT(ftruncate64)(file, bytes);
}
int fsync(int file) {
  note_file('S', file);
  return NEXT(fsync)(file);
}
int fdatasync(int file) {
  note_file('S', file);
  return NEXT(fdatasync)(file);
}
int rename(const char* from, const char* to) {
  note_name(AT_FDCWD, from, AT_FDCWD, to);
  return NEXT(rename)(from, to);
}
int renameat(int folder, const char* from, int to_folder, const char* to) {
  note_name(folder, from, to_folder, to);
  return NEXT(renameat)(folder, from, to_folder, to);
}
long syscall(long number, ...) {  // as renameat2 is called, which older headers lack
  long of[6];
  va_list given;
  va_start(given, number);
  for (int i = 0; i < 6; ++i) of[i] = va_arg(given, long);
  va_end(given);
  if (number == SYS_renameat2) note_name((int)of[0], (const char*)of[1], (int)of[2], (const char*)of[3]);
  return NEXT(syscall)(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}
int link(const char* from, const char* to) {
  note_name(AT_FDCWD, from, AT_FDCWD, to);
  return NEXT(link)(from, to);
}
int linkat(int folder, const char* from, int to_folder, const char* to, int flags) {
  note_name(folder, from, to_folder, to);
  return NEXT(linkat)(folder, from, to_folder, to, flags);
}
int access(const char* path, int mode) {
  if (strncmp(path, "/mark/", 6) == 0) note("M %s\n", path + 6);
  return NEXT(access)(path, mode);
}
