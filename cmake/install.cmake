# An installed onceward is found with find_package(onceward) and linked as onceward::dedup,
# onceward::consumer, onceward::sinks, onceward::client. With COMPONENTS pqxx it is onceward::pqxx,
# which can be installed alone: cmake --install <build folder> --component pqxx.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/onceward")

get_property(libraries GLOBAL PROPERTY ONCEWARD_LIBRARIES)
install(TARGETS onceward RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
install(CODE "set(onceward_program \"$<TARGET_FILE:onceward>\")
set(onceward_share \"${CMAKE_INSTALL_DATADIR}\")" COMPONENT program)
install(SCRIPT packaging/install_manual.cmake COMPONENT program)
install(TARGETS ${libraries} EXPORT onceward_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        COMPONENT development)
install(EXPORT onceward_targets NAMESPACE onceward:: DESTINATION "${package_folder}"
        FILE onceward-targets.cmake COMPONENT development)
foreach(folder dedup consumer sinks clients/cpp)
    install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/onceward/${folder}"
            COMPONENT development FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY "${CMAKE_BINARY_DIR}/schemas/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/onceward/schemas" COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "CMakeFiles" EXCLUDE)

if(TARGET onceward_pqxx)
    install(TARGETS onceward_pqxx EXPORT onceward_pqxx_targets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT pqxx)
    install(EXPORT onceward_pqxx_targets NAMESPACE onceward:: DESTINATION "${package_folder}"
            FILE onceward-pqxx-targets.cmake COMPONENT pqxx)
    install(DIRECTORY inbox/cpp/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/onceward/inbox/cpp"
            COMPONENT pqxx FILES_MATCHING PATTERN "*.h"
            PATTERN "tests" EXCLUDE PATTERN "examples" EXCLUDE PATTERN "build" EXCLUDE)
endif()

configure_package_config_file(cmake/onceward-config.cmake.in
    "${CMAKE_BINARY_DIR}/onceward-config.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/onceward-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
foreach(component development pqxx)
    install(FILES "${CMAKE_BINARY_DIR}/onceward-config.cmake"
                  "${CMAKE_BINARY_DIR}/onceward-config-version.cmake" cmake/find_built.cmake
            DESTINATION "${package_folder}" COMPONENT ${component})
endforeach()

if(ONCEWARD_PACKAGE)
    add_subdirectory(packaging)
endif()
