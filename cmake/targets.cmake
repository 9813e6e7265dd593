# What every target of this project is made with.

add_library(onceward_compile_options INTERFACE)
target_compile_options(onceward_compile_options INTERFACE
    -Wall -Wextra -Wswitch $<$<BOOL:${ONCEWARD_WARNINGS_AS_ERRORS}>:-Werror>
    # Where it optimises, g++ 12 sees overlaps in `string + text` that are not there.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict;-Wno-stringop-overflow>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-array-bounds;-Wno-stringop-overread>)
target_include_directories(onceward_compile_options INTERFACE
    "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")

if(ONCEWARD_PACKAGE)
    # Contracts hold the names of their files: without the folder, two builds give the same bytes.
    add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
endif()

if(ONCEWARD_MUTANTS)
    add_compile_definitions(ONCEWARD_MUTANTS)
endif()

if(ONCEWARD_SANITIZE)
    # For every target, and nowhere switched off again: tests/sanitizer_canary/ proves that it is
    # on.
    add_compile_options(-fsanitize=${ONCEWARD_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${ONCEWARD_SANITIZE})
    if(ONCEWARD_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Asio has a fence, which this sanitizer does not see and GCC warns of.
        add_compile_options(-Wno-tsan)
    endif()
    if(ONCEWARD_SANITIZE MATCHES undefined)
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
endif()

if(ONCEWARD_FUZZ)
    # libFuzzer's own counters lead it; Clang's are for the report of what it reached.
    add_compile_options(-fsanitize=fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping)
    add_link_options(-fprofile-instr-generate)
endif()

# Half of a build's time went into the headers of libraries. The other presets compile without this,
# and so tell of a missing include.
set(product_headers <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <mutex>
    <optional> <span> <stdexcept> <string> <string_view> <thread> <utility> <vector>
    <nlohmann/json.hpp>)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/product_headers.cc" CONTENT "")
    add_library(product_headers OBJECT "${CMAKE_BINARY_DIR}/product_headers.cc")
    target_link_libraries(product_headers PRIVATE
        nlohmann_json::nlohmann_json onceward_compile_options)
    target_precompile_headers(product_headers PRIVATE ${product_headers})
endif()

# Several files are compiled as one: most of a file's time is that of what it includes.
function(onceward_compile_in_batches target files)
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
        set_target_properties(${target} PROPERTIES
            UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
        # It takes the file that includes the others for the only one that is not a header.
        target_compile_options(${target} PRIVATE
            $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endif()
endfunction()

# Most of what only tests are made of is the time of its compilation.
function(onceward_compile_as_test target)
    if(TARGET test_headers)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(${target} PRIVATE -O0)
        # As GTest's own targets have it; where it differs, the compiler refuses the headers.
        target_compile_definitions(${target} PRIVATE GTEST_HAS_PTHREAD=1)
        target_precompile_headers(${target} REUSE_FROM test_headers)
        onceward_compile_in_batches(${target} 10)
    endif()
endfunction()

# onceward_library(<name> [INTERNAL | TESTS] SOURCES ... [PUBLIC <libraries> ...]
#                  [PRIVATE <libraries> ...] [HEADERS <headers> ...])
# Makes the static library onceward_<name> with the alias onceward::<name>. One that is INTERNAL, or
# for TESTS alone, is not installed. HEADERS: large ones of its own, compiled once.
function(onceward_library name)
    cmake_parse_arguments(
        library "INTERNAL;TESTS" "" "SOURCES;PUBLIC;PRIVATE;HEADERS" ${ARGN})
    if(NOT library_SOURCES)
        file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cc" CONTENT "")
        set(library_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cc")
    endif()
    add_library(onceward_${name} STATIC ${library_SOURCES})
    add_library(onceward::${name} ALIAS onceward_${name})
    target_compile_features(onceward_${name} PUBLIC cxx_std_20)
    target_include_directories(onceward_${name} PUBLIC
        "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR};${CMAKE_BINARY_DIR}>"
        "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/onceward>")
    target_link_libraries(onceward_${name}
        PUBLIC ${library_PUBLIC}
        PRIVATE ${library_PRIVATE} $<BUILD_INTERFACE:onceward_compile_options>)
    set_target_properties(onceward_${name} PROPERTIES EXPORT_NAME ${name})
    if(library_TESTS)
        onceward_compile_as_test(onceward_${name})
    elseif(TARGET product_headers AND library_HEADERS)
        target_precompile_headers(onceward_${name} PRIVATE ${product_headers} ${library_HEADERS})
    elseif(TARGET product_headers)
        target_precompile_headers(onceward_${name} REUSE_FROM product_headers)
    endif()
    if(NOT library_TESTS)
        onceward_compile_in_batches(onceward_${name} 16)
    endif()
    if(NOT library_INTERNAL AND NOT library_TESTS)
        set_property(GLOBAL APPEND PROPERTY ONCEWARD_LIBRARIES onceward_${name})
    endif()
endfunction()
