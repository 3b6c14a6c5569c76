/* A job that says when it began and when it ended: "BEGIN END\n" in microseconds of the wall clock,
   into FOLDER/RANK. Static, so that its first instruction is close to exec.
   usage: stamp FOLDER */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int main(int argc, char **argv) {
  const long long began = now_us();
  const char *rank = getenv("RANK");
  char path[4096];
  char line[64];
  if (argc != 2) return 2;
  snprintf(path, sizeof path, "%s/%s", argv[1], rank != NULL ? rank : "0");
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return 1;
  const int size = snprintf(line, sizeof line, "%lld %lld\n", began, now_us());
  return write(file, line, (size_t)size) == size ? 0 : 1;
}
