# The last resort, for systems other than Debian: librdkafka from its own repository.
include(FetchContent)
message(STATUS "librdkafka >= 2.10 is not installed: fetching it")
set(RDKAFKA_BUILD_STATIC ON CACHE BOOL "" FORCE)
set(RDKAFKA_BUILD_EXAMPLES OFF CACHE BOOL "" FORCE)
set(RDKAFKA_BUILD_TESTS OFF CACHE BOOL "" FORCE)
FetchContent_Declare(librdkafka
    GIT_REPOSITORY https://github.com/confluentinc/librdkafka.git
    GIT_TAG v2.14.2
    GIT_SHALLOW TRUE)
FetchContent_MakeAvailable(librdkafka)
add_library(RdKafka::rdkafka ALIAS rdkafka)
