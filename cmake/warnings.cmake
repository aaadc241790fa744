# The warnings both compilers must be silent about.
function(rondo_warnings target)
  target_compile_options(${target} INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wundef -Wvla -Wcast-qual -Wwrite-strings
    -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wformat=2)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    # gcc stays silent where a mechanical edit leaves `a, b` for `a && b`.
    target_compile_options(${target} INTERFACE -Wcomma)
  elseif(RONDO_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    # gcc reads these off the ranges of values, which it knows only when it optimises
    # fully; instrumented code hides them altogether. The release build has them on.
    target_compile_options(${target} INTERFACE
      -Wno-maybe-uninitialized -Wno-format-truncation -Wno-stringop-overflow)
  endif()
  if(RONDO_WERROR)
    target_compile_options(${target} INTERFACE -Werror)
  endif()
endfunction()
