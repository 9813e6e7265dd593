#pragma once
// A place in the configuration's file. A plain value.

namespace onceward {

// 1-based, 0 where there is none.
struct Mark {
    int line = 0;
    int column = 0;
};

}  // namespace onceward
