/*
 * gloo_all_reduce.cc - what Gloo reaches over TCP: sum of fp32, ordinary buffers.
 *
 * Usage: gloo_all_reduce ALGORITHM FOLDER INTERFACE BYTES:ITERATIONS ...
 *
 * ALGORITHM  ring: gloo::allreduce as PyTorch calls it, out of place; bcube: likewise;
 *            halving: Gloo's older halving and doubling, in place, with the calling
 *            thread polling its sockets, which is the least latency Gloo has
 * FOLDER     empty, and shared by all ranks: they find each other there
 * INTERFACE  whose address is used
 *
 * The rank is that of RANK and WORLD_SIZE. For each size one line "bytes microseconds",
 * the mean of rank 0 (all ranks end an all-reduce together), after
 * as many operations again (at most 100) to warm up.
 */
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using Group = std::shared_ptr<gloo::rendezvous::Context>;
using Operation = std::function<void()>;
using Reduction = void (*)(void *, const void *, const void *, size_t);

static int
number_of(const char *name)
{
    const char *text = std::getenv(name);
    return text == nullptr ? 0 : std::atoi(text);
}

static Group
connect(const char *folder, const char *interface)
{
    gloo::transport::tcp::attr where;
    where.iface = interface;
    where.ai_family = AF_UNSPEC;
    auto device = gloo::transport::tcp::CreateDevice(where);
    gloo::rendezvous::FileStore store(folder);
    auto group = std::make_shared<gloo::rendezvous::Context>(number_of("RANK"),
                                                             number_of("WORLD_SIZE"));
    group->connectFullMesh(store, device);
    return group;
}

/* Threads of Gloo leave these pairs alone from now on, so no other call may use them. */
static void
poll_oneself(const Group &group)
{
    for (int peer = 0; peer < group->size; peer++) {
        if (peer != group->rank) {
            group->getPair(peer)->setSync(true, true);
        }
    }
}

static Operation
make(const std::string &algorithm, const Group &group, float *in, float *out, size_t count)
{
    if (algorithm == "halving") {
        auto one = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
            group, std::vector<float *>{out}, static_cast<int>(count));
        return [one] { one->run(); };
    }
    auto options = std::make_shared<gloo::AllreduceOptions>(group);
    const Reduction sum = &gloo::sum<float>;
    options->setAlgorithm(algorithm == "bcube" ? gloo::AllreduceOptions::Algorithm::BCUBE
                                               : gloo::AllreduceOptions::Algorithm::RING);
    options->setReduceFunction(sum);
    options->setInput(in, count);
    options->setOutput(out, count);
    return [options] { gloo::allreduce(*options); };
}

static double
time_one(const Operation &operation, long iterations)
{
    const auto start = std::chrono::steady_clock::now();
    for (long i = 0; i < iterations; i++) {
        operation();
    }
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(iterations);
}

static void
measure(const std::string &algorithm, const Group &group, size_t bytes, long iterations)
{
    const size_t count = bytes / sizeof(float);
    /* Zeros: sums in place stay what they are, and no slower kind of number arises. */
    std::vector<float> in(count, 0.0F);
    std::vector<float> out(count, 0.0F);
    const Operation operation = make(algorithm, group, in.data(), out.data(), count);

    /* The last warm-up ends for all at about the same time. */
    (void)time_one(operation, iterations < 100 ? iterations : 100);
    const double mine = time_one(operation, iterations);
    if (group->rank == 0) {
        std::printf("%zu %.4f\n", bytes, mine);
    }
}

int
main(int argc, char **argv)
try {
    if (argc < 5) {
        std::fputs("usage: gloo_all_reduce ALGORITHM FOLDER INTERFACE BYTES:ITERATIONS\n",
                   stderr);
        return 2;
    }
    const Group group = connect(argv[2], argv[3]);
    if (std::string(argv[1]) == "halving") {
        poll_oneself(group);
    }
    for (int i = 4; i < argc; i++) {
        char *rest = nullptr;
        const size_t bytes = std::strtoul(argv[i], &rest, 10);
        measure(argv[1], group, bytes, *rest == ':' ? std::strtol(rest + 1, nullptr, 10)
                                                    : 20);
    }
    return 0;
} catch (const std::exception &problem) {
    std::fprintf(stderr, "gloo_all_reduce: %s\n", problem.what());
    return 1;
}
