// libssh.a can also log in by GSSAPI (Kerberos), which dtlaunch never uses: it logs in only with
// public keys. These stubs return "unavailable", so that dtlaunch does not load the five libraries
// of Kerberos at each start. Nothing calls them.

extern "C" {

using Status = unsigned;                    // OM_uint32
constexpr Status kUnavailable = 16u << 16;  // GSS_S_UNAVAILABLE: RFC 2744, section 3.9.1

// libssh refers to these two as data, and never uses them here.
extern const void* const GSS_C_NT_HOSTBASED_SERVICE;
extern const void* const GSS_C_NT_USER_NAME;
const void* const GSS_C_NT_HOSTBASED_SERVICE = nullptr;
const void* const GSS_C_NT_USER_NAME = nullptr;

// Without parameters: C linkage uses only names, and nothing calls them.
Status gss_accept_sec_context() {
  return kUnavailable;
}
Status gss_acquire_cred() {
  return kUnavailable;
}
Status gss_add_oid_set_member() {
  return kUnavailable;
}
Status gss_create_empty_oid_set() {
  return kUnavailable;
}
Status gss_delete_sec_context() {
  return kUnavailable;
}
Status gss_display_name() {
  return kUnavailable;
}
Status gss_display_status() {
  return kUnavailable;
}
Status gss_get_mic() {
  return kUnavailable;
}
Status gss_import_name() {
  return kUnavailable;
}
Status gss_indicate_mechs() {
  return kUnavailable;
}
Status gss_init_sec_context() {
  return kUnavailable;
}
Status gss_inquire_cred() {
  return kUnavailable;
}
Status gss_inquire_cred_by_mech() {
  return kUnavailable;
}
Status gss_release_buffer() {
  return kUnavailable;
}
Status gss_release_cred() {
  return kUnavailable;
}
Status gss_release_name() {
  return kUnavailable;
}
Status gss_release_oid() {
  return kUnavailable;
}
Status gss_release_oid_set() {
  return kUnavailable;
}
Status gss_test_oid_set_member() {
  return kUnavailable;
}
Status gss_verify_mic() {
  return kUnavailable;
}
}
