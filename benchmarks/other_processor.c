/* Lets the programs that load it see another processor, with AVX2 and nothing beyond.

An Intel processor that can refuse CPUID to programs (`cpuid_fault` in /proc/cpuinfo) raises a signal
instead, whose handler here answers: PROCESSOR=Intel as a Haswell, PROCESSOR=AMD as an EPYC of Zen 2.
Libraries then choose their code as they do there; the instructions themselves are this processor's.
Build: cc -O2 -shared -fPIC other_processor.c -o other_processor.so; use: LD_PRELOAD
*/
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { EAX, EBX, ECX, EDX };
static const long SET_CPUID = 0x1012; /* ARCH_SET_CPUID of arch_prctl */
static int amd;
static struct sigaction other; /* the program's own handler */
int __sigaction(int, const struct sigaction *, struct sigaction *);

static void ask(uint32_t leaf, uint32_t subleaf, uint32_t *r) {
  syscall(SYS_arch_prctl, SET_CPUID, 1);
  __asm__ volatile("cpuid" : "=a"(r[EAX]), "=b"(r[EBX]), "=c"(r[ECX]), "=d"(r[EDX]) : "a"(leaf), "c"(subleaf));
  syscall(SYS_arch_prctl, SET_CPUID, 0);
}

/* Takes away AVX512, AMX and what comes with them. */
static void limit(uint32_t leaf, uint32_t subleaf, uint32_t *r) {
  if (leaf == 0x7 && subleaf == 0) {
    r[EAX] = 0;
    r[EBX] &= ~0xdc230000u;
    r[ECX] &= ~0x00005f42u;
    r[EDX] &= ~0x03c0010cu;
  } else if (leaf == 0xd && subleaf == 0) {
    r[EAX] &= 7; /* states of x87, SSE and AVX */
  } else if (leaf == 0x7 || leaf == 0x19 || leaf == 0x1d || leaf == 0x1e || leaf == 0x24) {
    memset(r, 0, 16);
  } else if (leaf == 0x1) {
    r[EAX] = amd ? 0x00830f10 : 0x000306c3; /* family and model */
  }
}

/* Names AMD as the maker, and describes caches as AMD does. */
static void describe_amd(uint32_t leaf, uint32_t subleaf, uint32_t *r) {
  static const uint32_t caches[][4] = {{0x4121, 0x01c0003f, 0x3f, 0}, {0x4122, 0x01c0003f, 0x3f, 0},
                                       {0x4143, 0x01c0003f, 0x3ff, 2}, {0xc163, 0x03c0003f, 0x3fff, 1}};
  if (leaf == 0 || leaf == 0x80000000) {
    r[EAX] = leaf ? 0x80000020 : 0x10;
    memcpy(&r[EBX], "Auth", 4), memcpy(&r[EDX], "enti", 4), memcpy(&r[ECX], "cAMD", 4);
  } else if (leaf == 0x2 || leaf == 0x4 || leaf == 0xa || leaf == 0x14 || leaf == 0x1f) {
    memset(r, 0, 16); /* Intel's own */
  } else if (leaf == 0x80000005) {
    r[EAX] = r[EBX] = 0xff40ff40, r[ECX] = r[EDX] = 0x20080140;
  } else if (leaf == 0x80000006) {
    r[ECX] = 0x02006140, r[EDX] = 0x00809140;
  } else if (leaf == 0x8000001d) {
    memset(r, 0, 16);
    if (subleaf < 4) memcpy(r, caches[subleaf], 16);
  }
}

static void handle(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *instruction = (const unsigned char *)registers[REG_RIP];
  if (instruction[0] == 0x0f && instruction[1] == 0xa2) { /* CPUID */
    uint32_t leaf = registers[REG_RAX], subleaf = registers[REG_RCX], r[4];
    ask(leaf, subleaf, r);
    limit(leaf, subleaf, r);
    if (amd) describe_amd(leaf, subleaf, r);
    registers[REG_RAX] = r[EAX], registers[REG_RBX] = r[EBX];
    registers[REG_RCX] = r[ECX], registers[REG_RDX] = r[EDX];
    registers[REG_RIP] += 2;
  } else if (other.sa_flags & SA_SIGINFO) {
    other.sa_sigaction(number, info, context);
  } else {
    signal(SIGSEGV, SIG_DFL); /* ends the program when the instruction is tried again */
  }
}

/* Programs that set a handler for SIGSEGV get it behind this one. */
int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
  if (number != SIGSEGV) return __sigaction(number, new, old);
  if (old) *old = other;
  if (new) other = *new;
  return 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *processor = getenv("PROCESSOR");
  struct sigaction ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
  amd = processor && !strcmp(processor, "AMD");
  __sigaction(SIGSEGV, &ours, NULL);
  syscall(SYS_arch_prctl, SET_CPUID, 0);
}
