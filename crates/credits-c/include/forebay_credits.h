/* Credits that keep unread data inside a receiver's cache. Made by a test; see docs/credits.md. */

#ifndef FOREBAY_CREDITS_H
#define FOREBAY_CREDITS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Bytes of a credit message.
#define FOREBAY_MESSAGE_BYTES 24

// Any memory node.
#define FOREBAY_ANY_NODE -1

// Time after which what was lost is sent again, and the longest that credits wait for company, in nanoseconds.
#define FOREBAY_HEAL_NS 10000000

// See `FOREBAY_HEAL_NS`.
#define FOREBAY_KEEP_NS 10000

// Result of a call.
typedef enum forebay_result {
  // Done; nothing more is to do.
  FOREBAY_OK = 0,
  // Done; a credit message is to be sent now.
  FOREBAY_SEND = 1,
  // There is no such connection, or no number is free.
  FOREBAY_NO_CONNECTION = -1,
  // The peer's message is absurd: end the connection.
  FOREBAY_ABSURD = -2,
  // The machine's cache is unknown, or nothing of it is left.
  FOREBAY_NO_LIMIT = -3,
  // A pointer is null.
  FOREBAY_NULL = -4,
} forebay_result;

// Decision about a request.
typedef enum forebay_post {
  // Post it now.
  FOREBAY_GO = 0,
  // Wait for credits; `forebay_sender_poll` releases the request.
  FOREBAY_WAIT = 1,
  // There is no room for another request; nothing has changed.
  FOREBAY_FULL = 2,
  // There is no such connection.
  FOREBAY_REFUSED = 3,
} forebay_post;

// The receiver's side of many connections.
typedef struct forebay_receiver forebay_receiver;

// The sender's side of many connections.
typedef struct forebay_sender forebay_sender;

// Unread data that all connections of a receiver together may have.
typedef struct forebay_limit {
  // Lines.
  uint32_t lines;
  // Bytes of a line.
  uint32_t line;
} forebay_limit;

// A request that may be posted now.
typedef struct forebay_released {
  // Name that the application gave it.
  uint64_t token;
  // Bytes of it.
  uint64_t bytes;
  // Number of the connection.
  uint32_t connection;
} forebay_released;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Text of a result, which is never freed.
const char *forebay_result_text(int32_t of);

// The limit of this machine, for buffers in the memory of `node` (`FOREBAY_ANY_NODE`: of any).
// `others_percent` of the cache is left to others; 25 is a good start.
//
// # Safety
// `limit` is null or may be written.
enum forebay_result forebay_limit_of_machine(int32_t node,
                                             uint32_t others_percent,
                                             struct forebay_limit *limit);

// A limit of `bytes`, rounded down to lines.
//
// # Safety
// `limit` is null or may be written.
enum forebay_result forebay_limit_of_bytes(uint64_t bytes,
                                           uint32_t line,
                                           struct forebay_limit *limit);

// A sender of at most `connections`, with at most `requests` posted and waiting at once. All memory is taken now.
// End it with `forebay_sender_free`. Null: there is no memory.
struct forebay_sender *forebay_sender_new(uint32_t connections,
                                          uint32_t requests);

// Ends a sender.
//
// # Safety
// `sender` is null, or came from `forebay_sender_new` and is used no more.
void forebay_sender_free(struct forebay_sender *sender);

// A connection comes, with the first message of its receiver. `hello` null: the peer does without this library, credits are off.
// `connection` gets its number.
//
// # Safety
// `sender` is null or of `forebay_sender_new`; `hello` is null or has `length` bytes; `connection` is null or may be written.
enum forebay_result forebay_sender_connect(struct forebay_sender *sender,
                                           uint64_t now_ns,
                                           const uint8_t *hello,
                                           size_t length,
                                           uint32_t *connection);

// A connection ended or failed: its credits are free, and its requests are forgotten.
//
// # Safety
// `sender` is null or of `forebay_sender_new`.
void forebay_sender_disconnect(struct forebay_sender *sender, uint32_t connection);

// The application makes a request of `bytes`, and calls it `token`.
//
// # Safety
// `sender` is null or of `forebay_sender_new`.
enum forebay_post forebay_sender_post(struct forebay_sender *sender,
                                      uint64_t now_ns,
                                      uint32_t connection,
                                      uint64_t bytes,
                                      uint64_t token);

// A response came, which returns the credits of the oldest request. Use it where no counters travel.
//
// # Safety
// `sender` is null or of `forebay_sender_new`.
enum forebay_result forebay_sender_completed(struct forebay_sender *sender,
                                             uint64_t now_ns,
                                             uint32_t connection);

// A counter came, as immediate data of a message.
//
// # Safety
// `sender` is null or of `forebay_sender_new`.
enum forebay_result forebay_sender_counter(struct forebay_sender *sender,
                                           uint64_t now_ns,
                                           uint32_t connection,
                                           uint32_t counter);

// A credit message came.
//
// # Safety
// `sender` is null or of `forebay_sender_new`; `bytes` is null or has `length` bytes.
enum forebay_result forebay_sender_message(struct forebay_sender *sender,
                                           uint64_t now_ns,
                                           uint32_t connection,
                                           const uint8_t *bytes,
                                           size_t length);

// A request that may be posted now. False: there is none.
//
// # Safety
// `sender` is null or of `forebay_sender_new`; `released` is null or may be written.
bool forebay_sender_poll(struct forebay_sender *sender,
                         uint64_t now_ns,
                         struct forebay_released *released);

// A message for a receiver, of `FOREBAY_MESSAGE_BYTES` bytes. False: there is none.
//
// # Safety
// `sender` is null or of `forebay_sender_new`; `connection` and 24 bytes at `bytes` are null or may be written.
bool forebay_sender_next_message(struct forebay_sender *sender,
                                 uint64_t now_ns,
                                 uint32_t *connection,
                                 uint8_t *bytes);

// When to call `forebay_sender_next_message`; `UINT64_MAX`: not before the next request.
//
// # Safety
// `sender` is null or of `forebay_sender_new`.
uint64_t forebay_sender_due(struct forebay_sender *sender);

// Credits that a connection has outstanding, and the most that it may have. False: credits are off, or there is no such connection.
//
// # Safety
// `sender` is null or of `forebay_sender_new`; `outstanding` and `limit` are null or may be written.
bool forebay_sender_credits(struct forebay_sender *sender,
                            uint32_t connection,
                            uint64_t *outstanding,
                            uint64_t *limit);

// A receiver of at most `connections`. All memory is taken now. End it with `forebay_receiver_free`.
// Null: `limit` is null or absurd.
//
// # Safety
// `limit` is null or may be read.
struct forebay_receiver *forebay_receiver_new(const struct forebay_limit *limit,
                                              uint32_t connections);

// Ends a receiver.
//
// # Safety
// `receiver` is null, or came from `forebay_receiver_new` and is used no more.
void forebay_receiver_free(struct forebay_receiver *receiver);

// Another limit from now on.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`; `limit` is null or may be read.
enum forebay_result forebay_receiver_set_limit(struct forebay_receiver *receiver,
                                               const struct forebay_limit *limit);

// A connection comes. `connection` gets its number, `hello` the first message to its sender.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`; `connection` and 24 bytes at `hello` are null or may be written.
enum forebay_result forebay_receiver_connect(struct forebay_receiver *receiver,
                                             uint32_t *connection,
                                             uint8_t *hello);

// A connection ended or failed: its share goes to the others.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`.
void forebay_receiver_disconnect(struct forebay_receiver *receiver, uint32_t connection);

// The application has consumed a message of `bytes`. `FOREBAY_SEND`: call `forebay_receiver_credit_message` and send it.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`.
enum forebay_result forebay_receiver_completed(struct forebay_receiver *receiver,
                                               uint64_t now_ns,
                                               uint32_t connection,
                                               uint64_t bytes);

// The application has consumed a message of `bytes`, and its response returns the credits.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`.
enum forebay_result forebay_receiver_answered(struct forebay_receiver *receiver,
                                              uint64_t now_ns,
                                              uint32_t connection,
                                              uint64_t bytes);

// The counter for the immediate data of a message that is sent anyway. False: send a credit message first.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`; `counter` is null or may be written.
bool forebay_receiver_counter(struct forebay_receiver *receiver,
                              uint64_t now_ns,
                              uint32_t connection,
                              uint32_t *counter);

// The credit message of a connection, which is to be sent now.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`; 24 bytes at `bytes` are null or may be written.
enum forebay_result forebay_receiver_credit_message(struct forebay_receiver *receiver,
                                                    uint64_t now_ns,
                                                    uint32_t connection,
                                                    uint8_t *bytes);

// A message of a sender came. `FOREBAY_SEND`: a credit message is to be sent now.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`; `bytes` is null or has `length` bytes.
enum forebay_result forebay_receiver_message(struct forebay_receiver *receiver,
                                             uint64_t now_ns,
                                             uint32_t connection,
                                             const uint8_t *bytes,
                                             size_t length);

// A connection whose credit message is to be sent now. False: there is none.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`; `connection` is null or may be written.
bool forebay_receiver_poll(struct forebay_receiver *receiver,
                           uint64_t now_ns,
                           uint32_t *connection);

// When to call `forebay_receiver_poll`; `UINT64_MAX`: not before the next message.
//
// # Safety
// `receiver` is null or of `forebay_receiver_new`.
uint64_t forebay_receiver_due(struct forebay_receiver *receiver);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FOREBAY_CREDITS_H */
/* Made from declarations with hash 96e650296f0edbaf. */
