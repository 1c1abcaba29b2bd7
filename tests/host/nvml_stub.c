/* A libnvidia-ml.so.1 with made numbers, by the layouts of nvml.h, for machines without a GPU.

   Environment: NVML_PROCESSES="PID:BYTES ..." (BYTES - where the driver does not say), NVML_SAMPLES="PID:PERCENT ...",
   NVML_FAIL="FUNCTION=CODE ...", NVML_STARTS=N (with each question so many further processes start).
   -DENTRY=16|24|32: bytes of an entry in the list of processes; -DOLD: as a driver without the newer functions. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ENTRY
#define ENTRY 24
#endif
#define GIB (1ull << 30)
#define SUCCESS 0
#define UNINITIALIZED 1
#define INVALID_ARGUMENT 2
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define VERSION_MISMATCH 25

typedef struct { uint64_t total, free, used; } Memory;
typedef struct { unsigned version; uint64_t total, reserved, free, used; } Memory2;
typedef struct { unsigned gpu, memory; } Rates;
typedef struct { unsigned pid; uint64_t at; unsigned sm, memory, encoder, decoder; } Sample;

static int initialised;
static unsigned further;
static char gpu[] = "gpu", slice[] = "slice";

static int fails(const char *function) {
    const char *found = getenv("NVML_FAIL");
    if (!initialised) return UNINITIALIZED;
    while (found && (found = strstr(found, function))) {
        found += strlen(function);
        if (*found == '=') return atoi(found + 1);
    }
    return SUCCESS;
}

static int text_to(const char *value, char *text, unsigned length) {
    if (strlen(value) + 1 > length) return INSUFFICIENT_SIZE;
    strcpy(text, value);
    return SUCCESS;
}

static unsigned pairs(const char *variable, unsigned *pids, uint64_t *values, unsigned most) {
    const char *at = getenv(variable);
    unsigned count = 0;
    int read;
    char value[32];
    while (at && count < most && sscanf(at, "%u:%31s%n", &pids[count], value, &read) == 2) {
        values[count++] = value[0] == '-' ? UINT64_MAX : strtoull(value, NULL, 10);
        at += read;
    }
    return count;
}

static int list(unsigned *count, char *entries) {
    unsigned pids[1024];
    uint64_t bytes[1024];
    unsigned found = pairs("NVML_PROCESSES", pids, bytes, 1024);
    unsigned capacity = *count, starts = getenv("NVML_STARTS") ? atoi(getenv("NVML_STARTS")) : 0;
    for (unsigned n = 0; n < further && found < 1024; n++, found++) pids[found] = 9000 + n, bytes[found] = GIB;
    further += starts;
    *count = found;
    if (capacity < found) return INSUFFICIENT_SIZE;
    for (unsigned n = 0; n < found; n++) {
        char *entry = entries + n * ENTRY;
        memset(entry, 0, ENTRY);
        memcpy(entry, &pids[n], 4);
        memcpy(entry + 8, &bytes[n], 8);
        if (ENTRY >= 24) memset(entry + 16, 0xff, 8); /* no MIG instance */
    }
    return SUCCESS;
}

static int init(void) {
    initialised = 1;
    return fails("nvmlInit");
}

static int handle_of(unsigned index, void **handle) {
    if (index > 1) return INVALID_ARGUMENT;
    *handle = gpu;
    return SUCCESS;
}

int nvmlDeviceGetName(void *handle, char *text, unsigned length) {
    int failed = fails("nvmlDeviceGetName");
    return failed ? failed : text_to(handle == slice ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200", text, length);
}

int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned length) {
    return pid == 1 ? NOT_FOUND : text_to("python", text, length);
}

int nvmlDeviceGetMemoryInfo(void *handle, Memory *memory) {
    *memory = (Memory){24 * GIB, 6 * GIB, 18 * GIB};
    return fails("nvmlDeviceGetMemoryInfo");
}

int nvmlDeviceGetUtilizationRates(void *handle, Rates *rates) {
    *rates = (Rates){97, 12};
    return fails("nvmlDeviceGetUtilizationRates");
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    if (strcmp(uuid, "GPU-abc") && strcmp(uuid, "MIG-abc")) return NOT_FOUND;
    *handle = uuid[0] == 'M' ? slice : gpu;
    return SUCCESS;
}

#ifdef OLD

int nvmlInit(void) { return init(); }
int nvmlDeviceGetCount(unsigned *count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex(unsigned index, void **handle) { return handle_of(index, handle); }
int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned *count, char *entries) { return list(count, entries); }

#else

int nvmlInit_v2(void) { return init(); }

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 1;
    return fails("nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { return handle_of(index, handle); }

int nvmlDeviceGetMemoryInfo_v2(void *handle, Memory2 *memory) {
    if (memory->version != (sizeof(Memory2) | 2u << 24)) return VERSION_MISMATCH;
    *memory = (Memory2){memory->version, 24 * GIB, GIB, 6 * GIB, 17 * GIB};
    return fails("nvmlDeviceGetMemoryInfo_v2");
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, char *entries) {
    int failed = fails("nvmlDeviceGetComputeRunningProcesses_v3");
    return failed ? failed : list(count, entries);
}

int nvmlDeviceGetProcessUtilization(void *handle, Sample *samples, unsigned *count, uint64_t since) {
    unsigned pids[64], capacity = *count;
    uint64_t percents[64];
    int failed = fails("nvmlDeviceGetProcessUtilization");
    if (failed || since < 1600000000000000ull) return failed ? failed : INVALID_ARGUMENT;
    *count = pairs("NVML_SAMPLES", pids, percents, 64);
    if (*count == 0) return NOT_FOUND;
    if (samples == NULL || capacity < *count) return INSUFFICIENT_SIZE;
    for (unsigned n = 0; n < *count; n++) samples[n] = (Sample){pids[n], since + 1, (unsigned)percents[n], 5, 0, 0};
    return SUCCESS;
}

int nvmlDeviceIsMigDeviceHandle(void *handle, unsigned *sliced) {
    *sliced = handle == slice;
    return SUCCESS;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *handle, void **whole) {
    *whole = gpu;
    return SUCCESS;
}

#endif
