/* Says what holds, and counts what does not. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int failures = 0;

static void check(int holds, const char *what) {
    printf("%s: %s\n", holds ? "pass" : "FAIL", what);
    failures += !holds;
}

#endif
