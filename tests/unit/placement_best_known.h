// Best known makespans of large_corpus(): the least of all rules, local search and
// 60 s of annealing a graph. docs/measurements/placement.md says how they were found.
#pragma once

#include <cstdint>

namespace leat::scheduler {

constexpr int kBestKnownCorpusVersion = 2;

struct BestKnownPlacement {
    uint64_t seed = 0;
    int32_t tasks = 0;
    double transfer_ratio = 0;
    double makespan_ns = 0;
};

inline constexpr BestKnownPlacement kBestKnownPlacements[] = {
    {100001, 100, 0.1, 1942684},   {100002, 150, 0.1, 3297264},   {100003, 200, 0.1, 3804746},
    {100004, 300, 0.1, 5606111},   {100005, 400, 0.1, 7847908},   {100006, 600, 0.1, 10953821},
    {100007, 900, 0.1, 17326767},  {100008, 1200, 0.1, 24019796}, {100009, 1600, 0.1, 31203677},
    {100010, 2000, 0.1, 40280003}, {100011, 100, 0.5, 1687772},   {100012, 150, 0.5, 2857099},
    {100013, 200, 0.5, 4227287},   {100014, 300, 0.5, 5930551},   {100015, 400, 0.5, 8693485},
    {100016, 600, 0.5, 12210463},  {100017, 900, 0.5, 19005983},  {100018, 1200, 0.5, 24530700},
    {100019, 1600, 0.5, 32064632}, {100020, 2000, 0.5, 42054390}, {100021, 100, 2, 3255365},
    {100022, 150, 2, 4156751},     {100023, 200, 2, 6795165},     {100024, 300, 2, 10413871},
    {100025, 400, 2, 14344482},    {100026, 600, 2, 15054174},    {100027, 900, 2, 25873423},
    {100028, 1200, 2, 36733620},   {100029, 1600, 2, 52998536},   {100030, 2000, 2, 50316123},
};

}  // namespace leat::scheduler
