// Adam with decoupled weight decay, as in native/adam.hpp.

// What a step multiplies by; the host computes it (`step_rates` in ../training.py).
struct Rates {
    float rate, root_scale, shrink;
};

// Parameters and both moments of one member.
struct Adam {
    float *parameters, *first, *second;
    float rest1, rest2, epsilon;
    Rates rates;

    DEVICE float updated(float old, float& m, float& v, float gradient, bool decays) const {
        m = line(rest1, gradient - m, m);
        v = line(rest2, gradient * gradient - v, v);
        const float direction = quotient(m, line(sqrtf(v), rates.root_scale, epsilon));
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
