/* order.c - an order is a row of "key=value" texts, each with a zero at its end. */
#include "order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers travel as text; `at` is their place in the order. */
typedef struct number_row {
    const char *key;
    size_t at;
} number_row;

static const number_row numbers[] = {
    {"ranks", offsetof(run_order, options.nranks)},
    {"first", offsetof(run_order, place.first)},
    {"world", offsetof(run_order, place.world)},
    {"group", offsetof(run_order, place.group)},
};

static const number_row texts[] = {
    {"host", offsetof(run_order, host)},
    {"folder", offsetof(run_order, folder)},
    {"path", offsetof(run_order, path)},
    {"master", offsetof(run_order, master)},
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void
put(FILE *file, const char *key, const char *value)
{
    fprintf(file, "%s=%s", key, value);
    fputc('\0', file);
}

char *
run_order_write(const run_order *order, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    if (file == NULL) {
        return NULL;
    }
    const char *base = (const char *)order;
    for (size_t i = 0; i < ROWS(texts); i++) {
        const char *value = NULL;
        memcpy(&value, base + texts[i].at, sizeof(value));
        put(file, texts[i].key, value);
    }
    char number[32];
    for (size_t i = 0; i < ROWS(numbers); i++) {
        uint32_t value = 0;
        memcpy(&value, base + numbers[i].at, sizeof(value));
        snprintf(number, sizeof(number), "%u", value);
        put(file, numbers[i].key, number);
    }
    snprintf(number, sizeof(number), "%llu",
             (unsigned long long)order->options.grace_ms);
    put(file, "grace", number);
    put(file, "bind", run_bind_names[order->options.bind]);
    put(file, "port", order->port ? "1" : "0");
    for (size_t i = 0; i < order->options.setting_count; i++) {
        put(file, "set", order->options.settings[i]);
    }
    for (char **word = order->options.command; *word != NULL; word++) {
        put(file, "word", *word);
    }
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* A text or a number of the tables; false: the key is in neither. */
static bool
take_row(const char *key, char *value, run_order *order)
{
    char *base = (char *)order;
    for (size_t i = 0; i < ROWS(texts); i++) {
        if (strcmp(texts[i].key, key) == 0) {
            memcpy(base + texts[i].at, &value, sizeof(value));
            return true;
        }
    }
    for (size_t i = 0; i < ROWS(numbers); i++) {
        uint32_t number = 0;
        if (strcmp(numbers[i].key, key) == 0 &&
            run_number(value, 0, UINT32_MAX, &number)) {
            memcpy(base + numbers[i].at, &number, sizeof(number));
            return true;
        }
    }
    return false;
}

static bool
take(const char *key, char *value, size_t *words, run_order *order)
{
    run_options *options = &order->options;
    if (strcmp(key, "set") == 0) {
        options->settings[options->setting_count++] = value;
        return true;
    }
    if (strcmp(key, "word") == 0) {
        options->command[(*words)++] = value;
        return true;
    }
    if (strcmp(key, "grace") == 0) {
        options->grace_ms = strtoull(value, NULL, 10);
        return true;
    }
    if (strcmp(key, "port") == 0) {
        order->port = value[0] == '1';
        return true;
    }
    if (strcmp(key, "bind") == 0) {
        return run_bind_find(value, &options->bind);
    }
    return take_row(key, value, order);
}

bool
run_order_read(const char *text, size_t length, run_order *order)
{
    *order = (run_order){.host = NULL};
    if (length == 0 || text[length - 1] != '\0') {
        return false;
    }
    size_t entries = 0;
    for (size_t i = 0; i < length; i++) {
        entries += text[i] == '\0' ? 1 : 0;
    }
    char *copy = malloc(length);
    order->options.settings = calloc(entries + 1, sizeof(char *));
    order->options.command = calloc(entries + 1, sizeof(char *));
    if (copy == NULL || order->options.settings == NULL ||
        order->options.command == NULL) {
        return false;
    }
    memcpy(copy, text, length);
    size_t words = 0;
    for (char *entry = copy; entry < copy + length;) {
        char *next = entry + strlen(entry) + 1;
        char *equals = strchr(entry, '=');
        if (equals == NULL) {
            return false;
        }
        *equals = '\0';
        if (!take(entry, equals + 1, &words, order)) {
            return false;
        }
        entry = next;
    }
    return words > 0 && order->host != NULL && order->folder != NULL &&
           order->path != NULL && order->master != NULL && order->options.nranks > 0 &&
           order->options.nranks <= RUN_RANKS_MAX;
}
