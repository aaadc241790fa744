/* topology_wanted.c - RONDO_INTERFACE: what it may say, what it means, what is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>

#include "topology/wanted.h"

static void
reads_parts(void **state)
{
    static const struct {
        const char *text;
        uint32_t nparts;
        rondo_wanted_form form; /* of the last part */
        bool out;
        const char *part;
    } cases[] = {
        {"", 1, RONDO_WANTED_AUTO, false, "auto"},
        {"auto", 1, RONDO_WANTED_AUTO, false, "auto"},
        {"eth0", 1, RONDO_WANTED_NAME, false, "eth0"},
        {"eth0,ib*", 2, RONDO_WANTED_NAME, false, "ib*"},
        {" eth0 ,\tib0 ", 2, RONDO_WANTED_NAME, false, "ib0"},
        {"auto,^docker0", 2, RONDO_WANTED_NAME, true, "docker0"},
        {"^docker0,^veth*", 2, RONDO_WANTED_NAME, true, "veth*"},
        {"abcdefghijklmno", 1, RONDO_WANTED_NAME, false, "abcdefghijklmno"},
        {"e[nt]*", 1, RONDO_WANTED_NAME, false, "e[nt]*"},
        {"10.1.0.0/16", 1, RONDO_WANTED_RANGE, false, "10.1.0.0/16"},
        {"10.1.0.7", 1, RONDO_WANTED_RANGE, false, "10.1.0.7"},
        {"0.0.0.0/0", 1, RONDO_WANTED_RANGE, false, "0.0.0.0/0"},
        {"fd00::/8,^fd00:1::/32", 2, RONDO_WANTED_RANGE, true, "fd00:1::/32"},
        {"::/0", 1, RONDO_WANTED_RANGE, false, "::/0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rondo_wanted wanted;

        assert_int_equal(rondo_wanted_parse(cases[i].text, &wanted), RONDO_OK);
        assert_int_equal(wanted.nparts, cases[i].nparts);
        const rondo_wanted_part *const last = &wanted.parts[wanted.nparts - 1];
        assert_int_equal(last->form, cases[i].form);
        assert_int_equal(last->out, cases[i].out);
        assert_string_equal(last->text, cases[i].part);
    }
}

static void
refuses_with_the_part_named(void **state)
{
    static const struct {
        const char *text;
        const char *named;
        const char *why;
    } cases[] = {
        {",", "\"\"", "is empty"},
        {"eth0,", "\"\"", "is empty"},
        {"eth0,,eth1", "\"\"", "is empty"},
        {" ", "\"\"", "is empty"},
        {"^", "\"^\"", "what to take out"},
        {"^^eth0", "\"^^eth0\"", "what to take out"},
        {"^auto", "\"^auto\"", "everything"},
        {"eth0 eth1", "\"eth0 eth1\"", "blank"},
        {"abcdefghijklmnop", "\"abcdefghijklmnop\"", "longer"},
        {"e[nt", "\"e[nt\"", "without its ]"},
        {"10.1.0.0/33", "\"10.1.0.0/33\"", "/0 to /32"},
        {"10.1.0.0/", "\"10.1.0.0/\"", "/0 to /32"},
        {"10.1.0.0/-1", "\"10.1.0.0/-1\"", "/0 to /32"},
        {"10.1.0.0/1x", "\"10.1.0.0/1x\"", "/0 to /32"},
        {"10.1.0.0/0016", "\"10.1.0.0/0016\"", "/0 to /32"},
        {"fd00::/129", "\"fd00::/129\"", "/0 to /128"},
        {"10.1.0/16", "\"10.1.0/16\"", "neither"},
        {"eth0/24", "\"eth0/24\"", "neither"},
        {"eth0:1", "\"eth0:1\"", "neither"},
        {"fe80::1%eth0", "\"fe80::1%eth0\"", "neither"},
        {"good,10.300.0.0/8", "\"10.300.0.0/8\"", "neither"},
        {"^docker0,eth0", "\"eth0\"", "stands behind"},
        {"eth*,^eth3,auto", "\"auto\"", "stands behind"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rondo_wanted wanted = {.nparts = 7};

        assert_int_equal(rondo_wanted_parse(cases[i].text, &wanted), RONDO_ERR_ARG);
        assert_int_equal(wanted.nparts, 7);
        assert_non_null(strstr(rondo_error_text(), "RONDO_INTERFACE"));
        assert_non_null(strstr(rondo_error_text(), cases[i].named));
        assert_non_null(strstr(rondo_error_text(), cases[i].why));
    }
}

/* "a,a,a" with `count` parts. */
static void
repeat(uint32_t count, char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)strcpy(text + (size_t)2 * i, i + 1 < count ? "a," : "a");
    }
}

static void
has_bounds(void **state)
{
    char text[4096];
    rondo_wanted wanted;

    (void)state;
    repeat(RONDO_WANTED_MAX, text);
    assert_int_equal(rondo_wanted_parse(text, &wanted), RONDO_OK);
    assert_int_equal(wanted.nparts, RONDO_WANTED_MAX);
    repeat(RONDO_WANTED_MAX + 1, text);
    assert_int_equal(rondo_wanted_parse(text, &wanted), RONDO_ERR_ARG);
    for (size_t letters = 1; letters < sizeof text; letters++) {
        memset(text, '*', letters);
        text[letters] = '\0';
        assert_int_equal(rondo_wanted_parse(text, &wanted),
                         letters < 64 ? RONDO_OK : RONDO_ERR_ARG);
    }
}

static bool
fits(const char *text, const char *name, const char *address)
{
    unsigned char bytes[16] = {0};
    rondo_wanted wanted;
    const bool six = strchr(address, ':') != NULL;

    assert_int_equal(rondo_wanted_parse(text, &wanted), RONDO_OK);
    assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, address, bytes), 1);
    return rondo_wanted_fits(&wanted.parts[0], name, six ? 6 : 4, bytes);
}

static void
fits_names(void **state)
{
    (void)state;
    assert_true(fits("eth0", "eth0", "10.0.0.1"));
    assert_true(fits("eth*", "eth0", "fd00::1"));
    assert_true(fits("*", "lo", "127.0.0.1"));
    assert_true(fits("e[nt]?0", "eno0", "10.0.0.1"));
    assert_false(fits("e[nt]?0", "emo0", "10.0.0.1"));
    assert_false(fits("eth0", "eth01", "10.0.0.1"));
    assert_false(fits("eth", "eth0", "10.0.0.1"));
    assert_false(fits("auto", "auto", "10.0.0.1"));
}

/* Every length: an address fits as long as the differing bit lies behind it. */
static void
fits_ranges_bit_by_bit(void **state)
{
    (void)state;
    for (uint32_t six = 0; six < 2; six++) {
        const uint32_t bits = six == 1 ? 128 : 32;

        for (uint32_t prefix = 0; prefix <= bits; prefix++) {
            for (uint32_t bit = 0; bit < bits; bit++) {
                unsigned char other[16] = {0};
                char text[32];
                rondo_wanted wanted;

                (void)snprintf(text, sizeof text, "%s/%u", six == 1 ? "::" : "0.0.0.0",
                               prefix);
                assert_int_equal(rondo_wanted_parse(text, &wanted), RONDO_OK);
                other[bit / 8] = (unsigned char)(0x80u >> (bit % 8));
                assert_int_equal(
                    rondo_wanted_fits(&wanted.parts[0], "e0", six == 1 ? 6 : 4, other),
                    bit >= prefix);
                assert_false(
                    rondo_wanted_fits(&wanted.parts[0], "e0", six == 1 ? 4 : 6, other));
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_parts),
        cmocka_unit_test(refuses_with_the_part_named),
        cmocka_unit_test(has_bounds),
        cmocka_unit_test(fits_names),
        cmocka_unit_test(fits_ranges_bit_by_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
