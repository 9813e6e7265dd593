#pragma once
// The page of all metrics, from metric_list.h: docs/metrics.md is what `onceward config metrics`
// prints. Pure.

#include <string>

namespace onceward {

// Markdown.
std::string metrics_page();

}  // namespace onceward
