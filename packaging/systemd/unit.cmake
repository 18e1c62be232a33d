# Writes the unit of the service: its file `unit`, for the program DTAGENT. A path with a blank is
# quoted, and what systemd would replace in it is doubled: systemd.service(5), COMMAND LINES.
string(REPLACE "\\" "\\\\" DTAGENT "${DTAGENT}")
string(REPLACE "\"" "\\\"" DTAGENT "${DTAGENT}")
string(REPLACE "%" "%%" DTAGENT "${DTAGENT}")
if(DTAGENT MATCHES "[ '\\]")
  set(DTAGENT "\"${DTAGENT}\"")
endif()
message(STATUS "Installing: $ENV{DESTDIR}${unit}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/dtagent.service.in "$ENV{DESTDIR}${unit}" @ONLY)
