# An installed onceward is found with find_package(onceward) and linked as onceward::dedup,
# onceward::consumer, onceward::sinks, onceward::client.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/onceward")

get_property(libraries GLOBAL PROPERTY ONCEWARD_LIBRARIES)
install(TARGETS onceward RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS ${libraries} EXPORT onceward_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT onceward_targets NAMESPACE onceward:: DESTINATION "${package_folder}"
        FILE onceward-targets.cmake)
foreach(folder dedup consumer sinks clients/cpp)
    install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/onceward/${folder}"
            FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY "${CMAKE_BINARY_DIR}/schemas/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/onceward/schemas" FILES_MATCHING PATTERN "*.h"
        PATTERN "CMakeFiles" EXCLUDE)

configure_package_config_file(cmake/onceward-config.cmake.in
    "${CMAKE_BINARY_DIR}/onceward-config.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/onceward-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/onceward-config.cmake"
              "${CMAKE_BINARY_DIR}/onceward-config-version.cmake" cmake/find_rdkafka.cmake
        DESTINATION "${package_folder}")
