// Adam with decoupled weight decay and a rate schedule (Kingma & Ba 2015; Loshchilov & Hutter 2019).
#pragma once

#include "contract.hpp"
#include "network.hpp"

namespace extranets::EXTRANETS_VARIANT {

static inline double scheduled_rate(const Options& o, int64_t step, int64_t n_steps) {
    const double done = double(step) / double(n_steps);
    switch (o.schedule) {
        case Schedule::linear: return o.learning_rate * (1.0 - done);
        case Schedule::cosine: return o.learning_rate * 0.5 * (1.0 + std::cos(3.14159265358979323846 * done));
        default: return o.learning_rate;
    }
}

constexpr int64_t kMostProducts = 1 << 24;

// Parameters and both moments of one member; all three share the padded layout.
struct Adam {
    float* parameters;
    float* first;
    float* second;
    double power1 = 1, power2 = 1;  // beta^t
    Vec rest1, rest2, epsilon, rate, root_scale, shrink;
    bool decays;

    Adam(float* p, float* m, float* v, const Options& o)
        : parameters(p), first(m), second(v), rest1(splat(1.0f - o.beta1)),
          rest2(splat(1.0f - o.beta2)), epsilon(splat(o.epsilon)), decays(o.weight_decay > 0) {}

    // As if so many steps had been made. By products, one for each, so that the powers are the same bits; unless that takes long.
    void skip_steps(const Options& o, int64_t n) {
        power1 = n > kMostProducts ? std::pow(double(o.beta1), double(n)) : 1;
        power2 = n > kMostProducts ? std::pow(double(o.beta2), double(n)) : 1;
        for (int64_t i = 0; i < n && n <= kMostProducts && (power1 > 0 || power2 > 0); ++i) {
            power1 *= o.beta1;
            power2 *= o.beta2;
        }
    }

    void begin_step(const Options& o, int64_t step, int64_t n_steps) {
        power1 *= o.beta1;
        power2 *= o.beta2;
        const double r = scheduled_rate(o, step, n_steps);
        rate = splat(float(-r / (1.0 - power1)));
        root_scale = splat(float(1.0 / std::sqrt(1.0 - power2)));
        shrink = splat(float(1.0 - r * o.weight_decay));
    }

    void update(int64_t at, Vec gradient, bool is_weight) const {
        // moment + (1 - beta) * (new - moment): one multiplication less than the usual form
        const Vec m_old = load(first + at), v_old = load(second + at);
        const Vec m = fma(rest1, subtract(gradient, m_old), m_old);
        const Vec v = fma(rest2, subtract(mul(gradient, gradient), v_old), v_old);
        store(first + at, m);
        store(second + at, v);
        const Vec direction = divide(m, fma(square_root(v), root_scale, epsilon));
        const Vec old = load(parameters + at);
        store(parameters + at, fma(rate, direction, is_weight && decays ? mul(old, shrink) : old));
    }
};

}  // namespace extranets::EXTRANETS_VARIANT
