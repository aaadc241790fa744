/* trainer_data.c - the reader of IDX files and of the data set: what it reads, what it
 * refuses, and that the refusal names the file and the value. */
#include "trainer/data.h"
#include "trainer/idx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define IMAGES       7u
#define SIDE         3u
#define PIXELS       (SIDE * SIDE)
#define IMAGE_HEADER 16u
#define LABEL_HEADER 8u
#define IMAGE_BYTES  (IMAGE_HEADER + IMAGES * PIXELS)
#define LABEL_BYTES  (LABEL_HEADER + IMAGES)

typedef enum packing { PLAIN, GZIP } packing;

static char directory[] = "/tmp/rondo-trainer-data-XXXXXX";

static int
enter(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL && chdir(directory) == 0 ? 0 : -1;
}

static void
remove_files(void)
{
    static const char *const name[] = {
        "file",
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte",
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    };
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        (void)remove(name[i]);
    }
}

static int
leave(void **state)
{
    (void)state;
    remove_files();
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static void
put32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static void
make_images(uint8_t bytes[IMAGE_BYTES])
{
    put32(bytes, 0x803);
    put32(bytes + 4, IMAGES);
    put32(bytes + 8, SIDE);
    put32(bytes + 12, SIDE);
    for (uint32_t i = 0; i < IMAGES * PIXELS; i++) {
        bytes[IMAGE_HEADER + i] = (uint8_t)(i * 41 + 5);
    }
}

static void
make_labels(uint8_t bytes[LABEL_BYTES])
{
    put32(bytes, 0x801);
    put32(bytes + 4, IMAGES);
    for (uint32_t i = 0; i < IMAGES; i++) {
        bytes[LABEL_HEADER + i] = (uint8_t)(9 - i);
    }
}

static void
write_plain(const char *path, const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void
write_gzip(const char *path, const uint8_t *bytes, size_t count)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)count), (int)count);
    assert_int_equal(gzclose(file), Z_OK);
}

static void
write_file(packing how, const char *path, const uint8_t *bytes, size_t count)
{
    if (how == GZIP) {
        write_gzip(path, bytes, count);
    } else {
        write_plain(path, bytes, count);
    }
}

/* The file as bytes; returns how many. */
static size_t
read_back(const char *path, uint8_t *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, most, file);
    assert_true(count < most);
    assert_int_equal(fclose(file), 0);
    return count;
}

/* "file" is refused, and the sentence names it and holds `detail`. */
static void
refused(uint32_t dimensions, const char *detail)
{
    idx array;
    problem why;
    memset(&array, 0x5a, sizeof array);
    const idx before = array;
    assert_false(idx_read("file", dimensions, &array, &why));
    assert_memory_equal(&array, &before, sizeof array);
    assert_int_equal(why.exit_code, EXIT_FAILED);
    assert_ptr_equal(strstr(why.text, "file: "), why.text);
    if (strstr(why.text, detail) == NULL) {
        fail_msg("'%s' does not hold '%s'", why.text, detail);
    }
}

static void
test_good_files_are_read(void **state)
{
    (void)state;
    uint8_t images[IMAGE_BYTES];
    uint8_t labels[LABEL_BYTES];
    make_images(images);
    make_labels(labels);
    for (packing how = PLAIN; how <= GZIP; how++) {
        idx array;
        problem why;
        write_file(how, "file", images, sizeof images);
        assert_true(idx_read("file", 3, &array, &why));
        assert_int_equal(array.size[0], IMAGES);
        assert_int_equal(array.size[1], SIDE);
        assert_int_equal(array.size[2], SIDE);
        assert_memory_equal(array.bytes, images + IMAGE_HEADER, IMAGES * PIXELS);
        free(array.bytes);

        write_file(how, "file", labels, sizeof labels);
        assert_true(idx_read("file", 1, &array, &why));
        assert_int_equal(array.size[0], IMAGES);
        assert_int_equal(array.size[1], 1);
        assert_memory_equal(array.bytes, labels + LABEL_HEADER, IMAGES);
        free(array.bytes);
    }
}

static void
test_every_truncation_is_refused(void **state)
{
    (void)state;
    uint8_t images[IMAGE_BYTES];
    make_images(images);
    for (size_t kept = 0; kept < sizeof images; kept++) {
        for (packing how = PLAIN; how <= GZIP; how++) {
            write_file(how, "file", images, kept);
            refused(3, "truncated");
        }
    }
    /* The gzip file itself cut off: any place in header, data or checksum. */
    uint8_t packed[4 * IMAGE_BYTES];
    write_gzip("file", images, sizeof images);
    const size_t whole = read_back("file", packed, sizeof packed);
    for (size_t kept = 2; kept < whole; kept++) {
        write_plain("file", packed, kept);
        refused(3, "truncated");
    }
    for (size_t kept = 0; kept < 2; kept++) {
        write_plain("file", packed, kept); /* Too short to look like gzip. */
        refused(3, "truncated");
    }
}

static void
test_trailing_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t longer[IMAGE_BYTES + 1];
    make_images(longer);
    longer[IMAGE_BYTES] = 0;
    for (packing how = PLAIN; how <= GZIP; how++) {
        write_file(how, "file", longer, sizeof longer);
        refused(3, "goes on after");
    }
    /* Bytes after the gzip stream, which gzread would pass over. */
    uint8_t packed[4 * IMAGE_BYTES];
    write_gzip("file", longer, IMAGE_BYTES);
    const size_t whole = read_back("file", packed, sizeof packed - 1);
    packed[whole] = 'x';
    write_plain("file", packed, whole + 1);
    refused(3, "1 bytes follow");
}

static void
test_every_damaged_gzip_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    uint8_t images[IMAGE_BYTES];
    uint8_t packed[4 * IMAGE_BYTES];
    make_images(images);
    write_gzip("file", images, sizeof images);
    const size_t whole = read_back("file", packed, sizeof packed);
    for (size_t bit = 0; bit < 8 * whole; bit++) {
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_plain("file", packed, whole);
        idx array;
        problem why;
        /* Time stamp and the like may change; the data never may. */
        if (idx_read("file", 3, &array, &why)) {
            assert_memory_equal(array.bytes, images + IMAGE_HEADER, IMAGES * PIXELS);
            free(array.bytes);
        } else {
            assert_ptr_equal(strstr(why.text, "file: "), why.text);
        }
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void
test_wrong_magic_is_named(void **state)
{
    (void)state;
    uint8_t images[IMAGE_BYTES];
    for (uint32_t bit = 0; bit < 32; bit++) {
        make_images(images);
        put32(images, 0x803u ^ 1u << bit);
        char detail[64];
        (void)snprintf(detail, sizeof detail,
                       "magic number 0x%08x, expected 0x00000803", 0x803u ^ 1u << bit);
        for (packing how = PLAIN; how <= GZIP; how++) {
            /* In a plain file some magic numbers could be those of gzip: not these. */
            write_file(how, "file", images, sizeof images);
            refused(3, detail);
        }
    }
    uint8_t labels[LABEL_BYTES];
    make_labels(labels);
    write_plain("file", labels, sizeof labels);
    refused(3, "magic number 0x00000801");
    make_images(images);
    write_plain("file", images, sizeof images);
    refused(1, "magic number 0x00000803");
}

static void
test_hostile_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t size[3];
        const char *detail;
    } row[] = {
        {{0, 3, 3}, "size 0 of dimension 0"},
        {{7, 0, 3}, "size 0 of dimension 1"},
        {{7, 3, 0}, "size 0 of dimension 2"},
        {{0xffffffff, 3, 3}, "size 4294967295 of dimension 0"},
        {{0x80000000, 3, 3}, "size 2147483648 of dimension 0"},
        {{7, 0xffffffff, 3}, "size 4294967295 of dimension 1"},
        {{7, 3, 4097}, "size 4097 of dimension 2"},
        /* Products that overflow 32 bits, and 64 if more were allowed. */
        {{0x7fffffff, 4096, 4096}, "header claims 36028797002186752 bytes"},
        {{65536, 4096, 4096}, "header claims 1099511627776 bytes"},
        {{477218589, 3, 3}, "header claims 4294967301 bytes"},
        {{119304648, 3, 3}, "header claims 1073741832 bytes"},
        /* Allowed, but the file holds less. */
        {{8, 3, 3}, "63 of the 72 bytes"},
        {{119304647, 3, 3}, "63 of the 1073741823 bytes"},
        /* Or more. */
        {{6, 3, 3}, "goes on after"},
        {{1, 1, 1}, "goes on after"},
    };
    uint8_t images[IMAGE_BYTES];
    make_images(images);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        for (uint32_t d = 0; d < 3; d++) {
            put32(images + 4 + 4 * d, row[i].size[d]);
        }
        for (packing how = PLAIN; how <= GZIP; how++) {
            write_file(how, "file", images, sizeof images);
            refused(3, row[i].detail);
        }
    }
}

static void
test_what_is_no_file_is_refused(void **state)
{
    (void)state;
    remove_files();
    refused(3, "No such file");
    assert_int_equal(mkdir("file", 0700), 0);
    refused(3, "not a regular file");
    assert_int_equal(rmdir("file"), 0);
}

/* --- the whole set --------------------------------------------------------------- */

static void
write_set(packing how)
{
    static const char *const prefix[] = {"train", "t10k"};
    uint8_t images[IMAGE_BYTES];
    uint8_t labels[LABEL_BYTES];
    remove_files();
    make_images(images);
    make_labels(labels);
    for (size_t i = 0; i < 2; i++) {
        const char *ending = how == GZIP ? ".gz" : "";
        char path[64];
        (void)snprintf(path, sizeof path, "%s-images-idx3-ubyte%s", prefix[i], ending);
        write_file(how, path, images, sizeof images);
        (void)snprintf(path, sizeof path, "%s-labels-idx1-ubyte%s", prefix[i], ending);
        write_file(how, path, labels, sizeof labels);
    }
}

static void
set_refused(const char *detail)
{
    data_set set;
    problem why;
    assert_false(data_read(".", &set, &why));
    if (strstr(why.text, detail) == NULL) {
        fail_msg("'%s' does not hold '%s'", why.text, detail);
    }
}

static void
test_a_set_is_read_and_normalised(void **state)
{
    (void)state;
    uint64_t fingerprint[2];
    for (packing how = PLAIN; how <= GZIP; how++) {
        write_set(how);
        data_set set;
        problem why;
        assert_true(data_read(".", &set, &why));
        assert_int_equal(set.train.images, IMAGES);
        assert_int_equal(set.train.pixels, PIXELS);
        assert_int_equal(set.train.height, SIDE);
        assert_int_equal(set.train.width, SIDE);
        const uint32_t index[] = {6, 0, 3, 3};
        float x[4 * PIXELS];
        uint8_t label[4];
        data_gather(&set.train, index, 4, x, label);
        for (uint32_t row = 0; row < 4; row++) {
            assert_int_equal(label[row], 9 - index[row]);
            for (uint32_t p = 0; p < PIXELS; p++) {
                const uint8_t byte = (uint8_t)((index[row] * PIXELS + p) * 41 + 5);
                const double right = (byte / 255.0 - 0.2860) / 0.3530;
                assert_true((double)x[row * PIXELS + p] - right < 1e-6);
                assert_true(right - (double)x[row * PIXELS + p] < 1e-6);
            }
        }
        float slice[3 * PIXELS];
        uint8_t slice_label[3];
        const uint32_t same[] = {2, 3, 4};
        data_slice(&set.train, 2, 3, slice, slice_label);
        data_gather(&set.train, same, 3, x, label);
        assert_memory_equal(slice, x, sizeof slice);
        assert_memory_equal(slice_label, label, sizeof slice_label);
        fingerprint[how] = data_fingerprint(&set);
        set.train.pixel[0] ^= 1;
        assert_int_not_equal(data_fingerprint(&set), fingerprint[how]);
        data_free(&set);
    }
    assert_int_equal(fingerprint[PLAIN], fingerprint[GZIP]);
}

static void
test_a_set_that_does_not_fit_together_is_refused(void **state)
{
    (void)state;
    uint8_t images[IMAGE_BYTES];
    uint8_t labels[LABEL_BYTES];
    for (uint32_t bad = 10; bad < 256; bad += 49) {
        write_set(PLAIN);
        make_labels(labels);
        labels[LABEL_HEADER + 4] = (uint8_t)bad;
        write_plain("t10k-labels-idx1-ubyte", labels, sizeof labels);
        char detail[96];
        (void)snprintf(
            detail, sizeof detail,
            "t10k-labels-idx1-ubyte: label %u of image 4, allowed are 0 to 9", bad);
        set_refused(detail);
    }
    write_set(PLAIN);
    make_labels(labels);
    put32(labels + 4, IMAGES - 1);
    write_plain("train-labels-idx1-ubyte", labels, sizeof labels - 1);
    set_refused("train-labels-idx1-ubyte holds 6 labels for 7 images");

    write_set(PLAIN);
    make_images(images);
    put32(images + 8, 1); /* 7 images of 1 x 3 in the test part. */
    write_plain("t10k-images-idx3-ubyte", images, IMAGE_HEADER + IMAGES * SIDE);
    set_refused("train images of 3 x 3 pixels, test images of 1 x 3");

    remove_files();
    set_refused("no train-images-idx3-ubyte.gz and no train-images-idx3-ubyte in .");
    write_set(PLAIN);
    assert_int_equal(remove("t10k-labels-idx1-ubyte"), 0);
    set_refused("no t10k-labels-idx1-ubyte.gz");
    remove_files();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_files_are_read),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_trailing_bytes_are_refused),
        cmocka_unit_test(test_every_damaged_gzip_byte_is_refused_or_harmless),
        cmocka_unit_test(test_wrong_magic_is_named),
        cmocka_unit_test(test_hostile_sizes_are_refused),
        cmocka_unit_test(test_what_is_no_file_is_refused),
        cmocka_unit_test(test_a_set_is_read_and_normalised),
        cmocka_unit_test(test_a_set_that_does_not_fit_together_is_refused),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
