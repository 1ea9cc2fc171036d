/* The chain of the Rust firmware `ising`, from C on a Cortex-M4F: prints its hash by semihosting. */
#include "../ising.h"
#include <stdio.h>

extern void _start(void);
extern char stack_top[];
void reset(void);

/* The FPU is off after a reset. */
__attribute__((naked)) void reset(void) {
    __asm volatile("ldr r0, =0xE000ED88\n ldr r1, [r0]\n orr r1, r1, #0xF00000\n str r1, [r0]\n"
                   "dsb\n isb\n b _start\n");
}

static void stop(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, (const void *)reset, (const void *)stop, (const void *)stop,
};

int main(void) {
    uint32_t hash;
    bitmc_status status = ising_hash(&hash);
    printf("%s, hash %08x\n", bitmc_status_text(status), (unsigned)hash);
    return status != BITMC_STATUS_OK || hash != ISING_HASH;
}
