#include "measure/machine.h"

#include <gtest/gtest.h>

namespace memstrata::measure {
namespace {

TEST(Machine, WhatAProbePrintsBesideItsLinesIsLeftOut) {
  Machine machine;
  AddProbeLines(
      "A warning of the framework\nframework\ttorch\t2.7\ndevice\ttorch\t1\tGPU-1\tA card\t1000\n"
      "device\tjax\t0\t\tB\t-\ndevice\ttorch\tx\t\t\t1\nproblem\tjax\tno\\tdevice",
      machine);
  ASSERT_EQ(machine.frameworks.size(), 1U);
  EXPECT_EQ(machine.frameworks[0].second, "2.7");
  ASSERT_EQ(machine.seen.size(), 2U);
  EXPECT_EQ(machine.seen[0].device, 1U);
  EXPECT_EQ(machine.seen[0].total_bytes, 1000U);
  EXPECT_EQ(machine.seen[1].total_bytes, std::nullopt);
  ASSERT_EQ(machine.framework_problems.size(), 1U);
  EXPECT_EQ(machine.framework_problems[0].second, "no\tdevice");
}

TEST(Machine, TheHostIsThere) {
  const Result<Machine> machine = LookAtMachine("");
  ASSERT_TRUE(machine);
  ASSERT_TRUE(machine->memory.total_bytes);
  EXPECT_GE(*machine->memory.total_bytes, machine->memory.available_bytes.value_or(0));
}

}  // namespace
}  // namespace memstrata::measure
