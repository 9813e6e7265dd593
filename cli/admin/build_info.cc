#include "cli/admin/build_info.h"

namespace onceward {

BuildInfo build_info() { return {ONCEWARD_VERSION, ONCEWARD_REVISION, ONCEWARD_COMPILER}; }

}  // namespace onceward
