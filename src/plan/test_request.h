#pragma once
// For tests: a request by the names and texts of the command line.

#include <gtest/gtest.h>

#include <string>

#include "plan/plan.h"
#include "plan/request_file.h"

namespace memstrata::plan {

inline PlanRequest Request(const std::string& model, std::initializer_list<std::pair<const char*, const char*>> inputs,
                           const char* card = nullptr) {
  PlanRequest request;
  request.model = *DescribeAny(model);
  request.searches_largest = false;
  for (const auto& [name, value] : inputs) {
    const Status status = SetInput(request.workload, name, value);
    EXPECT_TRUE(status) << name << "=" << value;
  }
  if (card != nullptr) request.card = *FindCard(card);
  return request;
}

}  // namespace memstrata::plan
