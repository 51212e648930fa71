// Best known makespans of large_corpus(Corpus::kTuning), of corpus version 1, whose graphs are the
// same: the least of all rules, local search and 60 s of annealing a graph. Written by
// placement_quality --corpus tuning --anneal 60 --write FILE.
#pragma once

#include "placement_best_known.h"

namespace leat::scheduler {

inline constexpr BestKnownPlacement kTuningKnownPlacements[] = {
    {1, 100, 0.1, 1915280},    {2, 150, 0.1, 3073099},    {3, 200, 0.1, 3972873},
    {4, 300, 0.1, 5972231},    {5, 400, 0.1, 7432702},    {6, 600, 0.1, 11938973},
    {7, 900, 0.1, 17815044},   {8, 1200, 0.1, 23689890},  {9, 1600, 0.1, 30960720},
    {10, 2000, 0.1, 38627255}, {11, 100, 0.5, 1886731},   {12, 150, 0.5, 2951283},
    {13, 200, 0.5, 4050745},   {14, 300, 0.5, 5270918},   {15, 400, 0.5, 7551975},
    {16, 600, 0.5, 12171562},  {17, 900, 0.5, 17755048},  {18, 1200, 0.5, 24955836},
    {19, 1600, 0.5, 32380646}, {20, 2000, 0.5, 39769141}, {21, 100, 2, 3446951},
    {22, 150, 2, 3681326},     {23, 200, 2, 7543286},     {24, 300, 2, 10257399},
    {25, 400, 2, 10447486},    {26, 600, 2, 15036864},    {27, 900, 2, 29789580},
    {28, 1200, 2, 36836250},   {29, 1600, 2, 53286750},   {30, 2000, 2, 55171318},
};

}  // namespace leat::scheduler
