# Writes the service's unit: the file `unit`, for the program DTAGENT. Quotes a path with blanks and
# doubles what systemd would expand in it: systemd.service(5), COMMAND LINES.
string(REPLACE "\\" "\\\\" DTAGENT "${DTAGENT}")
string(REPLACE "\"" "\\\"" DTAGENT "${DTAGENT}")
string(REPLACE "%" "%%" DTAGENT "${DTAGENT}")
if(DTAGENT MATCHES "[ '\\]")
  set(DTAGENT "\"${DTAGENT}\"")
endif()
message(STATUS "Installing: $ENV{DESTDIR}${unit}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/dtagent.service.in "$ENV{DESTDIR}${unit}" @ONLY)
