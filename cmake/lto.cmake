# Optimisation across files, in release builds by gcc: the way of a short operation leads
# through five rooms. It happens once, when all objects of the library are made one; the
# shared library, the archive and whoever links it then need to know nothing of it.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release"
   AND NOT RONDO_SANITIZE)
  set(RONDO_LTO ON)
else()
  set(RONDO_LTO OFF)
endif()

# Sets `result` to what libraries are made of: the objects of `target`, or the one object
# they have become.
function(rondo_library_objects target result)
  if(NOT RONDO_LTO)
    set(${result} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
    return()
  endif()
  target_compile_options(${target} PRIVATE -flto=auto)
  set(object ${PROJECT_BINARY_DIR}/${target}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_C_COMPILER} -O3 -g -r -flto=auto -flinker-output=nolto-rel
      -o ${object} $<TARGET_OBJECTS:${target}>
    # What was static in a file has become global, under names that are nobody's business.
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=rondo_* ${object}
    DEPENDS ${target} $<TARGET_OBJECTS:${target}>
    COMMENT "Optimising ${target} as a whole" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target}_whole DEPENDS ${object})
  set(${result} ${object} PARENT_SCOPE)
endfunction()
