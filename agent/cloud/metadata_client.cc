// Every failed step returns quietly: outside its cloud a service is absent, and users should not
// see an error about that.
#include "agent/cloud/metadata_client.h"

#include "base/limits.h"
#include "wire/deadline.h"
#include "wire/private_socket.h"
//
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace dtl {
namespace {

namespace http = boost::beast::http;

constexpr int kHttp11 = 11;
// Outside a cloud the answer may come from anybody, so this limits how much is read.
constexpr std::uint32_t kMostHead = 8 << 10;
constexpr std::uint64_t kMostBody = 64 << 10;

http::request<http::empty_body> to_http(const MetadataRequest& wanted) {
  http::request<http::empty_body> request;
  request.method_string(wanted.method);
  request.target(wanted.path);
  request.version(kHttp11);
  request.set(http::field::host, wanted.host);
  request.set(http::field::connection, "close");
  for (const auto& [name, value] : wanted.headers) request.set(name, value);
  return request;
}

}  // namespace

awaitable<std::optional<MetadataAnswer>> ask_metadata(asio::io_context& context,
                                                      asio::ip::tcp::endpoint service,
                                                      MetadataRequest wanted) {
  asio::ip::tcp::socket socket(context);
  // One deadline for all steps: closing the socket fails the pending one.
  const Deadline deadline(context, Deadline::Clock::now() + kMetadataPatience, [&socket] {
    boost::system::error_code ignored;
    socket.close(ignored);
  });
  boost::system::error_code failed;
  open_in_this_process(socket, service.protocol());
  co_await socket.async_connect(service, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return std::nullopt;
  http::request<http::empty_body> request = to_http(wanted);
  co_await http::async_write(socket, request, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return std::nullopt;
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  answer.header_limit(kMostHead);
  answer.body_limit(kMostBody);
  co_await http::async_read(socket, buffer, answer,
                            asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return std::nullopt;
  MetadataAnswer told;
  told.status = static_cast<int>(answer.get().result_int());
  told.of_google = answer.get()["Metadata-Flavor"] == "Google";
  told.body = std::move(answer.get().body());
  co_return told;
}

}  // namespace dtl
