// The standard normal distribution in double precision, without branches and library calls: the compiler turns a loop that
// calls these functions into vector code.
#pragma once

#include "simd.hpp"

namespace extranets::EXTRANETS_VARIANT {

// exp(x) for x <= 0, right to within two units in the last place. Below -708 it stays at exp(-708), about 1e-308.
EXTRANETS_INLINE double exp_negative(double x) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to whole numbers, kept in the low bits
    x = x < -708.0 ? -708.0 : x;
    const double shifted = x * 1.4426950408889634 + kShift;
    const double n = shifted - kShift;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;  // ln 2 in two parts
    double p = 1.0 / 479001600;  // Taylor: the next term is below 2e-16 for |r| <= ln(2) / 2
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    uint64_t bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // 2^n
    double power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}

// Mills' ratio (1 - Phi(x)) / phi(x) for x >= 0, to 3e-15. (x + 4.5) times the ratio is smooth in y, which maps [0, infinity)
// to [-1, 1); the polynomial is its Chebyshev series, cut after degree 20 and written in powers of y.
EXTRANETS_INLINE double mills_ratio(double x) {
    const double inverse = 1.0 / (x + 4.5);
    const double y = (x - 4.5) * inverse;
    double p = -1.3809401354182476e-08;
    p = p * y - 1.1964570156546998e-08;
    p = p * y + 1.4278894979747455e-07;
    p = p * y + 1.5768511397130087e-07;
    p = p * y - 9.047866582807679e-07;
    p = p * y - 1.2527747391455593e-06;
    p = p * y + 5.33265970765911e-06;
    p = p * y + 7.993652201250095e-06;
    p = p * y - 3.5663173500769647e-05;
    p = p * y - 3.993620050946773e-05;
    p = p * y + 0.0002808421320920991;
    p = p * y + 1.5994394512811687e-05;
    p = p * y - 0.0023004477615288193;
    p = p * y + 0.004383668308686948;
    p = p * y + 0.010587028522956241;
    p = p * y - 0.08490282391219088;
    p = p * y + 0.27919476587734277;
    p = p * y - 0.6345323932472434;
    p = p * y + 1.1190905025316276;
    p = p * y - 1.6048882049011381;
    p = p * y + 1.9131352239782875;
    return p * inverse;
}

}  // namespace extranets::EXTRANETS_VARIANT
