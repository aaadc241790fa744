# cmake --install: headers, both libraries, programs, pkg-config and CMake packages.
install(TARGETS rondo rondo_static EXPORT rondo-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Beside librondo.so, where that looks for it; without a link of its own.
if(TARGET rondo_ucx)
  install(TARGETS rondo_ucx LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rondo
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
get_property(programs GLOBAL PROPERTY RONDO_PROGRAMS)
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
install(EXPORT rondo-targets NAMESPACE rondo:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rondo-config.cmake.in
  ${PROJECT_BINARY_DIR}/rondo-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondo-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondo-config.cmake
  ${PROJECT_BINARY_DIR}/rondo-config-version.cmake DESTINATION ${package_dir})

# pkg-config's paths follow the prefix when the folders are relative, so that the copy
# can be moved.
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    set(RONDO_PC_${kind} "${CMAKE_INSTALL_${kind}}")
  else()
    set(RONDO_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/rondo.pc.in ${PROJECT_BINARY_DIR}/rondo.pc.half
  @ONLY)
# --install may name another prefix than configuring did.
install(CODE "
  file(READ \"${PROJECT_BINARY_DIR}/rondo.pc.half\" text)
  get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
  string(REGEX REPLACE \"^prefix=[^\n]*\" \"prefix=\${prefix}\" text \"\${text}\")
  file(WRITE \"${PROJECT_BINARY_DIR}/rondo.pc\" \"\${text}\")")
install(FILES ${PROJECT_BINARY_DIR}/rondo.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
