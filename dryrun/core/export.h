#pragma once
// An answered function of a vendor library: exported under its own name, with C linkage.
#define MEMSTRATA_ANSWER(type) extern "C" __attribute__((visibility("default"))) type
