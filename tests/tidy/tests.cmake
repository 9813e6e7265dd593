# The tests of what the repository looks like, for tests/CMakeLists.txt.

# The rules of the house, each with a sample that breaks it.
onceward_test(tidy LABEL tidy
    NEEDS onceward
    SOURCES
        tidy/build_rules.cc
        tidy/build_rules_test.cc
        tidy/layer_rules.cc
        tidy/layer_rules_test.cc
        tidy/mutex_rules.cc
        tidy/mutex_rules_test.cc
        tidy/page_rules.cc
        tidy/page_rules_test.cc
        tidy/prose_rules.cc
        tidy/prose_rules_test.cc
        tidy/room_rules.cc
        tidy/room_rules_test.cc
        tidy/text_rules.cc
        tidy/text_rules_test.cc
        tidy/transaction_rules.cc
        tidy/transaction_rules_test.cc
        tidy/tree.cc
        tidy/word_rules.cc
        tidy/word_rules_test.cc)

# One version in all packages.
add_test(NAME versions COMMAND "${CMAKE_SOURCE_DIR}/scripts/version" --check)
set_tests_properties(versions PROPERTIES LABELS tidy)

# Clang reads what the product says of its mutexes. The second has a violation that it must find.
add_test(NAME annotations COMMAND "${CMAKE_SOURCE_DIR}/scripts/annotations" "${CMAKE_BINARY_DIR}")
set(violation annotations/unguarded.cc)
add_test(NAME annotations_violation COMMAND "${CMAKE_SOURCE_DIR}/scripts/annotations"
    "${CMAKE_BINARY_DIR}" "tests/${violation}")
set_tests_properties(annotations annotations_violation PROPERTIES LABELS tidy TIMEOUT 900)
