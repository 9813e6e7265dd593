// Overflows a signed integer: UndefinedBehaviorSanitizer must say so.
#include <climits>
#include <cstdio>

int main(int argument_count, char**) {
    volatile int largest = INT_MAX;
    const int sum = largest + argument_count;
    std::printf("overflowed to %d without a report\n", sum);
}
