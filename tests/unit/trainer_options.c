/* trainer_options.c - the command line: every option, every refusal with its sentence,
 * and what the options come to for a number of ranks. */
#include "trainer/options.h"
#include "trainer/trainer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 20

/* Splits at blanks; "~" stands for an empty word. */
static bool
read_line(const char *line, options *o, problem *why)
{
    static char copy[512];
    char *argv[WORDS_MAX] = {copy};
    int argc = 1;
    (void)snprintf(copy, sizeof copy, "%s", line);
    char *rest = copy;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        assert_true(argc < WORDS_MAX);
        if (word[0] != '\0') {
            argv[argc++] = strcmp(word, "~") == 0 ? word + 1 : word;
        }
    }
    return options_read(argc, argv, o, why);
}

static void
test_defaults(void **state)
{
    (void)state;
    options o;
    problem why;
    assert_true(read_line("", &o, &why));
    assert_int_equal(o.action, ACTION_TRAIN);
    assert_int_equal(o.model, TRAIN_MLP);
    assert_int_equal(o.hidden_count, 2);
    assert_int_equal(o.hidden[0], 256);
    assert_int_equal(o.hidden[1], 128);
    assert_int_equal(o.epochs, 10);
    assert_int_equal(o.batch, 64);
    assert_int_equal(o.global_batch, 0);
    assert_int_equal(o.micro_batch, 0);
    assert_int_equal(o.steps, 0);
    assert_int_equal(o.optimiser, TRAIN_MOMENTUM);
    assert_int_equal(o.accumulate, 1);
    assert_int_equal(o.rate_batch, 0);
    assert_true(o.rate == 0.03);
    assert_true(o.settings.momentum == 0.9);
    assert_true(o.settings.weight_decay == 1e-4);
    assert_true(o.warmup == 0.0);
    assert_int_equal(o.schedule, RATE_COSINE);
    assert_int_equal(o.mode, TRAIN_SYNC);
    assert_false(o.canonical);
    assert_false(o.quiet);
    assert_null(o.metrics);
}

static void
test_every_option_is_read(void **state)
{
    (void)state;
    options o;
    problem why;
    static const char *const line[] = {
        "--model mlp --hidden 7,8,9 --epochs 3 --batch 5 --lr 0.5 --quiet",
        "--model=mlp --hidden=7,8,9 --epochs=3 --batch=5 --lr=5e-1 --quiet",
    };
    for (size_t i = 0; i < 2; i++) {
        assert_true(read_line(line[i], &o, &why));
        assert_int_equal(o.hidden_count, 3);
        assert_int_equal(o.hidden[2], 9);
        assert_int_equal(o.epochs, 3);
        assert_int_equal(o.batch, 5);
        assert_true(o.rate == 0.5);
        assert_true(o.quiet);
    }
    assert_true(read_line("--momentum 0 --weight-decay 0.25 --schedule constant --seed "
                          "1000000000000000 --mode none --steps 12",
                          &o, &why));
    assert_true(o.settings.momentum == 0.0);
    assert_true(o.settings.weight_decay == 0.25);
    assert_int_equal(o.schedule, RATE_CONSTANT);
    assert_int_equal(o.seed, 1000000000000000);
    assert_int_equal(o.mode, TRAIN_NONE);
    assert_int_equal(o.steps, 12);
    assert_true(read_line(
        "--canonical --log-every 0 --hash-every 2 --data d --metrics m", &o, &why));
    assert_true(o.canonical);
    assert_int_equal(o.micro_batch, 32);
    assert_int_equal(o.log_every, 0);
    assert_int_equal(o.hash_every, 2);
    assert_string_equal(o.data, "d");
    assert_string_equal(o.metrics, "m");
    assert_true(read_line("--canonical --micro-batch 8 --global-batch 64", &o, &why));
    assert_int_equal(o.micro_batch, 8);
    assert_int_equal(o.batch, 0);
    assert_true(read_line("--hidden 0", &o, &why));
    assert_int_equal(o.hidden_count, 0);
    assert_true(read_line("--hidden 1,2,3,4,5,6,7,16384", &o, &why));
    assert_int_equal(o.hidden_count, 8);
    assert_true(read_line("--help --nonsense", &o, &why));
    assert_int_equal(o.action, ACTION_HELP);
    assert_true(read_line("--seed 3 --version", &o, &why));
    assert_int_equal(o.action, ACTION_VERSION);
}

static const struct {
    const char *line;
    const char *text;
} refusal[] = {
    {"--epoch 3", "unknown option '--epoch'; --help lists all"},
    {"train", "unknown option 'train'; --help lists all"},
    {"~", "unknown option ''; --help lists all"},
    {"--", "unknown option '--'; --help lists all"},
    {"--=3", "unknown option '--=3'; --help lists all"},
    {"-h", "unknown option '-h'; --help lists all"},
    {"--epochs", "--epochs needs a value"},
    {"--epochs 0", "--epochs: '0' is not a whole number from 1 to 1000000"},
    {"--epochs -1", "--epochs: '-1' is not a whole number from 1 to 1000000"},
    {"--epochs +1", "--epochs: '+1' is not a whole number from 1 to 1000000"},
    {"--epochs 1.5", "--epochs: '1.5' is not a whole number from 1 to 1000000"},
    {"--epochs 3x", "--epochs: '3x' is not a whole number from 1 to 1000000"},
    {"--epochs ~", "--epochs: '' is not a whole number from 1 to 1000000"},
    {"--epochs 1000001", "--epochs: '1000001' is not a whole number from 1 to 1000000"},
    {"--seed 18446744073709551617",
     "--seed: '18446744073709551617' is not a whole number from 0 to "
     "1000000000000000"},
    {"--batch 0", "--batch: '0' is not a whole number from 1 to 1000000"},
    {"--lr 0", "--lr: '0' is not a number from 1e-09 to 1000"},
    {"--lr nan", "--lr: 'nan' is not a number from 1e-09 to 1000"},
    {"--lr inf", "--lr: 'inf' is not a number from 1e-09 to 1000"},
    {"--lr fast", "--lr: 'fast' is not a number from 1e-09 to 1000"},
    {"--momentum 1", "--momentum: '1' is not a number from 0 to 0.9999"},
    {"--weight-decay -1", "--weight-decay: '-1' is not a number from 0 to 1"},
    {"--schedule linear",
     "--schedule: 'linear' is not one of: constant, cosine, steps"},
    {"--mode sinc", "--mode: 'sinc' is not one of: sync, none, ..."},
    {"--model rnn", "--model: 'rnn' is not one of: mlp, softmax, cnn"},
    {"--optimiser adam", "--optimiser: 'adam' is not one of: momentum, sgd, nesterov, "
                         "adamw, lars, lamb"},
    {"--model softmax --hidden 3",
     "--hidden with --model softmax: it has no hidden layer"},
    {"--hidden 0 --model softmax",
     "--hidden with --model softmax: it has no hidden layer"},
    {"--accumulate 0", "--accumulate: '0' is not a whole number from 1 to 10000"},
    {"--accumulate 2 --canonical",
     "--accumulate 2 with --canonical: its pieces are passes already; --micro-batch "
     "gives their size"},
    {"--optimiser sgd --momentum 0.5",
     "--momentum 0.5 with --optimiser sgd: its formula has none"},
    {"--optimiser adamw --momentum 0",
     "--momentum 0 with --optimiser adamw: its formula has none"},
    {"--optimiser lamb --momentum 0.9",
     "--momentum 0.9 with --optimiser lamb: its formula has none"},
    {"--beta1 0.8", "--beta1 0.8 with --optimiser momentum: its formula has none"},
    {"--optimiser sgd --beta2 0",
     "--beta2 0 with --optimiser sgd: its formula has none"},
    {"--optimiser lars --epsilon 1e-8",
     "--epsilon 1e-08 with --optimiser lars: its formula has none"},
    {"--optimiser lamb --trust 1",
     "--trust 1 with --optimiser lamb: its formula has none"},
    {"--decay-every 2", "--decay-every 2 with --schedule cosine: only --schedule steps "
                        "goes down in steps"},
    {"--decay-factor 0.5 --schedule constant",
     "--decay-factor 0.5 with --schedule constant: only --schedule steps goes down in "
     "steps"},
    {"--warmup 3 --epochs 3",
     "--warmup 3 of --epochs 3: nothing is left for the rate it leads to"},
    {"--lr-batch 0", "--lr-batch: '0' is not a whole number from 1 to 1000000"},
    {"--hidden 3,",
     "--hidden: '3,' is not 0 and not a list of at most 8 whole numbers from 1 to "
     "16384, such as 256,128"},
    {"--hidden 3,0", NULL},
    {"--hidden 00", NULL},
    {"--hidden ,3", NULL},
    {"--hidden 3;4", NULL},
    {"--hidden -3", NULL},
    {"--hidden 16385", NULL},
    {"--hidden 99999999999999999999999", NULL},
    {"--hidden 1,2,3,4,5,6,7,8,9", NULL},
    {"--hidden ~", NULL},
    {"--data ~", "--data: '' is not a name"},
    {"--quiet=yes", "--quiet takes no value, but 'yes' is given"},
    {"--help=", "--help takes no value, but '' is given"},
    {"--batch 64 --global-batch 128", "--batch 64 and --global-batch 128: give "
                                      "one; the other follows from the ranks"},
    {"--micro-batch 8", "--micro-batch 8 without --canonical: only a canonical "
                        "gradient is made from pieces"},
    {"--canonical --mode none",
     "--canonical with --mode none: ranks that exchange nothing cannot agree on a "
     "gradient"},
    {"--hash-every 1 --mode none", "--hash-every 1 with --mode none: ranks that "
                                   "exchange nothing differ, there is "
                                   "nothing to compare"},
};

static void
test_every_refusal_names_option_value_and_what_is_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusal / sizeof refusal[0]; i++) {
        options o;
        problem why;
        if (read_line(refusal[i].line, &o, &why)) {
            fail_msg("'%s' is accepted", refusal[i].line);
        }
        assert_int_equal(why.exit_code, EXIT_USAGE);
        const char *text = refusal[i].text;
        const char *rest = text != NULL ? strstr(text, "...") : NULL;
        if (rest != NULL) {
            assert_memory_equal(why.text, text, (size_t)(rest - text));
        } else if (text != NULL) {
            assert_string_equal(why.text, text);
        } else {
            assert_ptr_equal(strstr(why.text, "--hidden: '"), why.text);
        }
    }
}

/* Whatever must be equal on all ranks shows in the text that ranks compare. */
static void
test_shared_options_as_text(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *name;
        const char *value;
    } row[] = {
        {"", "--model", "mlp"},
        {"--model cnn", "--model", "cnn"},
        {"--model cnn", "--hidden", "128"},
        {"", "--hidden", "256,128"},
        {"--accumulate 3", "--accumulate", "3"},
        {"--optimiser lamb", "--optimiser", "lamb"},
        {"--optimiser lamb", "--momentum", ""},
        {"--optimiser lamb", "--epsilon", "1e-06"},
        {"--optimiser adamw", "--epsilon", "1e-08"},
        {"--optimiser adamw --beta1 0.5", "--beta1", "0.5"},
        {"--optimiser adamw --beta2 0.5", "--beta2", "0.5"},
        {"--optimiser lars --trust 0.5", "--trust", "0.5"},
        {"--optimiser adamw", "--lr", "0.001"},
        {"--lr-batch 64", "--lr-batch", "64"},
        {"--warmup 2.5", "--warmup", "2.5"},
        {"--schedule steps", "--decay-every", "4"},
        {"--schedule steps --decay-factor 0.5", "--decay-factor", "0.5"},
        {"--hidden 0", "--hidden", "0"},
        {"--hidden 16384,16384,16384,16384,16384,16384,16384,16384", "--hidden",
         "16384,16384,16384,16384,16384,16384,16384,16384"},
        {"--epochs 3", "--epochs", "3"},
        {"--batch 5", "--batch", "5"},
        {"--batch 5", "--global-batch", ""},
        {"--global-batch 5", "--global-batch", "5"},
        {"--global-batch 5", "--batch", ""},
        {"--lr 0.1", "--lr", "0.1"},
        {"--lr 0.10000000000000002", "--lr", "0.10000000000000002"},
        {"--momentum 0.5", "--momentum", "0.5"},
        {"--weight-decay 1e-3", "--weight-decay", "0.001"},
        {"--schedule constant", "--schedule", "constant"},
        {"--seed 42", "--seed", "42"},
        {"--mode none", "--mode", "none"},
        {"--canonical", "--canonical", "on"},
        {"", "--canonical", "off"},
        {"--canonical --micro-batch 3", "--micro-batch", "3"},
        {"--steps 8", "--steps", "8"},
        {"--log-every 0", "--log-every", "0"},
        {"--hash-every 4", "--hash-every", "4"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        options o;
        problem why;
        option_text text[OPTIONS_MAX];
        assert_true(read_line(row[i].line, &o, &why));
        const uint32_t count = options_shared(&o, text);
        uint32_t found = 0;
        for (uint32_t j = 0; j < count; j++) {
            assert_string_not_equal(text[j].name, "--data");
            assert_string_not_equal(text[j].name, "--metrics");
            if (strcmp(text[j].name, row[i].name) == 0) {
                assert_string_equal(text[j].value, row[i].value);
                found++;
            }
        }
        assert_int_equal(found, 1);
    }
}

static void
test_help_lists_every_option_with_its_default(void **state)
{
    (void)state;
    static const char *const piece[] = {
        "--model mlp|softmax|cnn ",
        "--accumulate N ",
        "--optimiser momentum|sgd|nesterov|adamw|lars|lamb\n",
        "--lr-batch N ",
        "--beta1 X ",
        "--beta2 X ",
        "--epsilon X ",
        "--trust X ",
        "--warmup X ",
        "--decay-every N ",
        "--decay-factor X ",
        "--hidden N,N,... ",
        "[mlp: 256,128; cnn: 128]",
        "--epochs N ",
        "[10]",
        "--batch N ",
        "--global-batch N ",
        "--lr X ",
        "--momentum X ",
        "[0.9]",
        "--weight-decay X ",
        "[0.0001]",
        "--schedule constant|cosine|steps ",
        "[cosine]",
        "--seed N ",
        "--mode sync|none|",
        "[sync]",
        "--canonical ",
        "--micro-batch N ",
        "--steps N ",
        "--log-every N ",
        "--hash-every N ",
        "--data PATH ",
        "--metrics PATH ",
        "--quiet ",
        "--help ",
        "--version ",
    };
    char *help = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&help, &bytes);
    assert_non_null(out);
    options_print_help(out);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < sizeof piece / sizeof piece[0]; i++) {
        if (strstr(help, piece[i]) == NULL) {
            fail_msg("--help does not hold '%s'", piece[i]);
        }
    }
    free(help);
}

/* --- for a number of ranks ------------------------------------------------------- */

static void
test_plan(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint32_t ranks;
        uint32_t global_batch; /* 0: refused, with `text`. */
        uint32_t pieces;
        const char *text;
    } row[] = {
        {"", 1, 64, 0, NULL},
        {"", 4, 256, 0, NULL},
        {"--batch 3", 5, 15, 0, NULL},
        {"--batch 3 --accumulate 3", 5, 15, 0, NULL},
        {"--global-batch 9 --accumulate 3", 3, 9, 0, NULL},
        {"--global-batch 8 --accumulate 3", 3, 0, 0,
         "--accumulate 3 with 2 images of a rank in a step: each pass needs an image"},
        {"--global-batch 256", 3, 256, 0, NULL},
        {"--global-batch 3", 3, 3, 0, NULL},
        {"--global-batch 3", 4, 0, 0,
         "--global-batch 3 on 4 ranks: each rank needs an image in a step"},
        {"--batch 1000000", 4096, 0, 0,
         "--batch 1000000 on 4096 ranks: more than 2147483647 in all"},
        {"--canonical", 1, 64, 2, NULL},
        {"--canonical", 2, 128, 2, NULL},
        {"--canonical --global-batch 256", 1, 256, 8, NULL},
        {"--canonical --global-batch 256", 8, 256, 1, NULL},
        {"--canonical --global-batch 96", 1, 96, 3, NULL},
        {"--canonical --global-batch 256", 16, 0, 0,
         "--canonical: a global batch of 256 is not made of whole --micro-batch 32 "
         "pieces, as many on each of 16 rank(s)"},
        {"--canonical --global-batch 100", 1, 0, 0,
         "--canonical: a global batch of 100"},
        {"--canonical --micro-batch 1000000", 4096, 0, 0,
         "--canonical: a global batch"},
        {"--canonical", 3, 0, 0, "--canonical on 3 ranks: allowed are 1, 2, 4, 8, ..."},
        {"--canonical", 6, 0, 0, "--canonical on 6 ranks: allowed are 1, 2, 4, 8, ..."},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        options o;
        problem why;
        batch_plan plan = {.global_batch = 0};
        assert_true(read_line(row[i].line, &o, &why));
        const bool good = trainer_plan(&o, row[i].ranks, &plan, &why);
        assert_int_equal(good, row[i].global_batch != 0);
        assert_int_equal(plan.global_batch, row[i].global_batch);
        assert_int_equal(plan.pieces, row[i].pieces);
        if (!good) {
            assert_int_equal(why.exit_code, EXIT_USAGE);
            assert_true(why.known_to_all);
            assert_ptr_equal(strstr(why.text, row[i].text), why.text);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_option_is_read),
        cmocka_unit_test(test_every_refusal_names_option_value_and_what_is_allowed),
        cmocka_unit_test(test_shared_options_as_text),
        cmocka_unit_test(test_help_lists_every_option_with_its_default),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
