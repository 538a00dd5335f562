#pragma once

struct Order {
    int id;
    long quantity;
};

long doubled(long value);
