/* What starting and reaping a program costs at least: COUNT times PROGRAM, at most FLIGHT at once.
   usage: spawn_floor COUNT FLIGHT PROGRAM */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int reap_one(void) {
  int status = 0;
  return waitpid(-1, &status, 0) > 0 && status == 0;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fputs("usage: spawn_floor COUNT FLIGHT PROGRAM\n", stderr);
    return 2;
  }
  const long count = atol(argv[1]);
  const long flight = atol(argv[2]);
  char *const words[] = {argv[3], NULL};
  char *const environment[] = {NULL};
  long running = 0;
  for (long started = 0; started < count; ++started) {
    if (running == flight) {
      if (!reap_one()) return 1;
      --running;
    }
    pid_t pid = 0;
    if (posix_spawn(&pid, argv[3], NULL, NULL, words, environment) != 0) return 1;
    ++running;
  }
  for (; running > 0; --running)
    if (!reap_one()) return 1;
  return 0;
}
