# The exported symbols are the functions the public headers mark RONDO_API, read off the
# headers so that no second list can disagree with them.

function(rondo_public_functions result)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/rondo/*.h)
  set(names)
  foreach(header IN LISTS headers)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX MATCHALL
      "RONDO_API[ \n][^;(]*[ \n*](rondo_[a-z0-9_]+)[ \n]*\\(" found "${text}")
    foreach(declaration IN LISTS found)
      string(REGEX REPLACE ".*[ \n*](rondo_[a-z0-9_]+)[ \n]*\\($" "\\1" name
        "${declaration}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(${result} ${names} PARENT_SCOPE)
endfunction()

function(rondo_symbol_map target)
  rondo_public_functions(names)
  set(RONDO_SYMBOLS "")
  foreach(name IN LISTS names)
    string(APPEND RONDO_SYMBOLS "        ${name};\n")
  endforeach()
  set(map ${PROJECT_BINARY_DIR}/rondo.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/rondo.map ${map} @ONLY)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
endfunction()
