/* A sender and a receiver in one program: order, credits, forged and lost messages. */
#include <forebay_credits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(so)                                                          \
    do {                                                                   \
        if (!(so)) {                                                       \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #so); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

int main(void) {
    struct forebay_limit limit;
    CHECK(forebay_limit_of_bytes(64 * 1024, 64, &limit) == FOREBAY_OK && limit.lines == 1024);
    struct forebay_receiver *receiver = forebay_receiver_new(&limit, 2);
    struct forebay_sender *sender = forebay_sender_new(2, 64);
    uint32_t there = 0, here = 0, other = 0;
    uint8_t message[FOREBAY_MESSAGE_BYTES];
    CHECK(forebay_receiver_connect(receiver, &there, message) == FOREBAY_OK);
    CHECK(forebay_sender_connect(sender, 0, message, sizeof message, &here) == FOREBAY_OK);
    CHECK(forebay_sender_connect(sender, 0, NULL, 0, &other) == FOREBAY_OK);

    uint64_t now = 0, posted = 0, made = 0, read = 0;
    while (read < 10000) {
        now += 1000;
        struct forebay_released released;
        while (forebay_sender_poll(sender, now, &released)) {
            CHECK(released.token == posted++ && released.connection == here);
        }
        switch (forebay_sender_post(sender, now, here, 4096, made)) {
        case FOREBAY_GO:
            CHECK(made == posted);
            posted++;
            made++;
            break;
        case FOREBAY_WAIT:
            made++;
            break;
        case FOREBAY_FULL:
            break;
        case FOREBAY_REFUSED:
            CHECK(false);
        }
        if (read < posted && now % 2000 == 0) {
            read++;
            if (forebay_receiver_completed(receiver, now, there, 4096) == FOREBAY_SEND) {
                CHECK(forebay_receiver_credit_message(receiver, now, there, message) == FOREBAY_OK);
                if (read % 7 != 0) { /* every seventh is lost */
                    CHECK(forebay_sender_message(sender, now, here, message, sizeof message) == FOREBAY_OK);
                }
            }
        }
        uint64_t outstanding = 0, most = 0;
        CHECK(forebay_sender_credits(sender, here, &outstanding, &most) && outstanding <= 2048);
        CHECK(posted - read <= 32);
        uint32_t number = 0;
        while (forebay_receiver_poll(receiver, now, &number)) {
            CHECK(forebay_receiver_credit_message(receiver, now, number, message) == FOREBAY_OK);
            CHECK(forebay_sender_message(sender, now, here, message, sizeof message) == FOREBAY_OK);
        }
        while (forebay_sender_next_message(sender, now, &number, message)) {
            if (forebay_receiver_message(receiver, now, there, message, sizeof message) == FOREBAY_SEND) {
                CHECK(forebay_receiver_credit_message(receiver, now, there, message) == FOREBAY_OK);
                CHECK(forebay_sender_message(sender, now, here, message, sizeof message) == FOREBAY_OK);
            }
        }
    }
    CHECK(forebay_sender_post(sender, now, other, UINT64_C(1) << 40, 0) == FOREBAY_GO);
    memset(message, 0xff, sizeof message);
    enum forebay_result result = forebay_sender_message(sender, now, here, message, sizeof message);
    CHECK(result == FOREBAY_ABSURD && strlen(forebay_result_text(result)) > 0);
    CHECK(forebay_sender_counter(sender, now, here, 123456789) == FOREBAY_ABSURD);
    forebay_sender_disconnect(sender, here);
    forebay_receiver_disconnect(receiver, there);
    forebay_sender_free(sender);
    forebay_receiver_free(receiver);
    printf("passed: %llu requests\n", (unsigned long long)made);
    return 0;
}
