// user.cc - a C++ program against the installed copy: sums a vector over its ranks.
#include <rondo/rondo.h>

#include <cstdio>
#include <vector>

int
main()
{
    rondo_comm *comm = nullptr;
    if (rondo_comm_create(nullptr, &comm) != RONDO_OK) {
        std::fprintf(stderr, "rondo_comm_create: %s\n", rondo_error_text());
        return 1;
    }
    const uint32_t nranks = rondo_comm_nranks(comm);
    std::vector<double> values(777, rondo_comm_rank(comm) + 1.0);
    const rondo_status status = rondo_all_reduce(
        comm, values.data(), values.data(), values.size(), RONDO_FP64, RONDO_SUM);
    int wrong = status != RONDO_OK;
    for (const double value : values) {
        wrong += value != nranks * (nranks + 1) / 2.0;
    }
    std::printf("rank %u of %u: %d wrong\n", rondo_comm_rank(comm), nranks, wrong);
    rondo_comm_destroy(comm);
    return wrong != 0 || nranks != 2;
}
