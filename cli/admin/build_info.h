#pragma once
// What this program was built from. Constants of the build.

namespace onceward {

struct BuildInfo {
    const char* version;
    const char* revision;  // of the repository; `unknown` if the build had none
    const char* compiler;  // such as `GNU 12.2.0`
};

BuildInfo build_info();

}  // namespace onceward
