// Losses of one row, as in native/loss.hpp: weight * mean over outputs; and factor times its gradient where delta is not null.

constexpr float kLogVarianceLimit = 14.0f;

DEVICE float clamp_log_variance(float s) {
    return s < -kLogVarianceLimit ? -kLogVarianceLimit : (s > kLogVarianceLimit ? kLogVarianceLimit : s);
}

DEVICE float squared_error(const float* heads, const float* y, int n_outputs, float weight, float factor, float* delta) {
    const float per_output = 1.0f / float(n_outputs);
    float loss = 0;
    for (int o = 0; o < n_outputs; ++o) {
        const float error = heads[o] - y[o];
        loss += error * error;
        if (delta) delta[o] = 2.0f * per_output * factor * weight * error;
    }
    return weight * per_output * loss;
}

// `unit_variance` holds the variance at one, whatever its head says: the warm-up.
DEVICE float gaussian_nll(const float* heads, const float* y, int n_outputs, float weight, float factor, float* delta,
                          bool unit_variance) {
    const float per_output = 1.0f / float(n_outputs), g = per_output * factor * weight;
    float loss = 0;
    for (int o = 0; o < n_outputs; ++o) {
        const float raw = heads[n_outputs + o], s = unit_variance ? 0.0f : clamp_log_variance(raw);
        const float error = heads[o] - y[o], precision = expf(-s);
        loss += 0.5f * (s + error * error * precision);
        if (delta) {
            delta[o] = g * error * precision;
            delta[n_outputs + o] = !unit_variance && s == raw ? 0.5f * g * (1.0f - error * error * precision) : 0.0f;
        }
    }
    return weight * per_output * loss;
}

DEVICE float row_loss(int kind, const float* heads, const float* y, int n_outputs, float weight, float factor, float* delta,
                      bool unit_variance) {
    return kind == kGaussianNll ? gaussian_nll(heads, y, n_outputs, weight, factor, delta, unit_variance)
                                : squared_error(heads, y, n_outputs, weight, factor, delta);
}
