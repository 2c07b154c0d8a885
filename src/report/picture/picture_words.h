#pragma once
// The sentences of a picture: its title and its line of advice, from the findings.

#include <string>

#include "query/explain.h"

namespace memstrata {

/// What the picture shows, in one sentence; its title also for people who cannot see it.
std::string PictureTitle(const HeapExplained& explained);

/// What would help, or that nothing is wrong.
std::string PictureAdvice(const HeapExplained& explained);

}  // namespace memstrata
