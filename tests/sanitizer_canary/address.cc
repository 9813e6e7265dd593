// Reads memory after it was given back: AddressSanitizer must say so.
#include <cstdio>
#include <memory>

int main() {
    auto number = std::make_unique<int>(1);
    const volatile int* dangling = number.get();
    number.reset();
    std::printf("read %d without a report\n", *dangling);
}
