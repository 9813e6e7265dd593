// Writes the same number from two threads: ThreadSanitizer must say so.
#include <cstdio>
#include <thread>

namespace {
int shared_number = 0;
void write_often() {
    for (int i = 0; i < 100'000; ++i) shared_number = i;
}
}  // namespace

int main() {
    std::thread first(write_often);
    std::thread second(write_often);
    first.join();
    second.join();
    std::printf("wrote %d without a report\n", shared_number);
}
