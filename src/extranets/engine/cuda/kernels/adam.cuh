// Adam with decoupled weight decay and a rate schedule, as in native/adam.hpp.

// What a step multiplies by; one thread computes it for all.
struct Rates {
    float rate, root_scale, shrink;
};

DEVICE double scheduled_rate(const Options& o, long long step, long long n_steps) {
    const double done = double(step) / double(n_steps), rate = o.learning_rate;
    if (o.schedule == kLinear) return rate * (1.0 - done);
    if (o.schedule == kCosine) return rate * 0.5 * (1.0 + cos(3.14159265358979323846 * done));
    return rate;
}

// beta^t is carried from step to step.
struct Powers {
    double first, second;
};

DEVICE Powers powers_before(const Options& o, long long step) {
    return {pow(double(o.beta1), double(step)), pow(double(o.beta2), double(step))};
}

DEVICE Rates next_rates(const Options& o, Powers& powers, long long step, long long n_steps) {
    powers.first *= o.beta1;
    powers.second *= o.beta2;
    const double r = scheduled_rate(o, step, n_steps);
    return {float(-r / (1.0 - powers.first)), float(1.0 / sqrt(1.0 - powers.second)), float(1.0 - r * o.weight_decay)};
}

// Parameters and both moments of one member.
struct Adam {
    float *parameters, *first, *second;
    float rest1, rest2, epsilon;
    Rates rates;

    DEVICE float updated(float old, float& m, float& v, float gradient, bool decays) const {
        m = line(rest1, gradient - m, m);
        v = line(rest2, gradient * gradient - v, v);
        const float direction = m / line(sqrtf(v), rates.root_scale, epsilon);
        return line(rates.rate, direction, decays ? old * rates.shrink : old);
    }

    DEVICE void update(int at, float gradient, bool decays) const {
        float m = first[at], v = second[at];
        parameters[at] = updated(parameters[at], m, v, gradient, decays);
        first[at] = m;
        second[at] = v;
    }

    DEVICE void update4(int at, const float (&g)[4], bool decays) const {
        const float4 old = load4(parameters + at);
        float4 m = load4(first + at), v = load4(second + at), now;
        now.x = updated(old.x, m.x, v.x, g[0], decays);
        now.y = updated(old.y, m.y, v.y, g[1], decays);
        now.z = updated(old.z, m.z, v.z, g[2], decays);
        now.w = updated(old.w, m.w, v.w, g[3], decays);
        store4(parameters + at, now);
        store4(first + at, m);
        store4(second + at, v);
    }
};
