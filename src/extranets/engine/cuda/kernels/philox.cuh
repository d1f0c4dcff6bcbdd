// Philox4x32-10 (Salmon et al., 2011), as src/extranets/_random.py and native/philox.hpp have it: any word at once.

enum Purpose : unsigned { kInit = 1, kShuffle = 2, kDropout = 3, kValidation = 4, kPass = 5 };

struct Stream {
    unsigned key0, key1, part, purpose, member;
};

DEVICE Stream make_stream(unsigned long long seed, unsigned member, unsigned purpose, unsigned attempt, unsigned part) {
    return {unsigned(seed), unsigned(seed >> 32), part, purpose + 256u * attempt, member};
}

DEVICE unsigned upper_product(unsigned a, unsigned b) { return unsigned((static_cast<unsigned long long>(a) * b) >> 32); }

// Word `index` of the stream.
DEVICE unsigned random_word(const Stream& stream, long long index) {
    unsigned a = unsigned(index / 4), b = stream.part, c = stream.purpose, d = stream.member;
    unsigned k0 = stream.key0, k1 = stream.key1;
    for (int round = 0; round < 10; ++round) {
        const unsigned p = 0xD2511F53u * a, q = 0xCD9E8D57u * c;
        const unsigned new_a = upper_product(0xCD9E8D57u, c) ^ b ^ k0, new_c = upper_product(0xD2511F53u, a) ^ d ^ k1;
        a = new_a, b = q, c = new_c, d = p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const int place = int(index % 4);
    return place == 0 ? a : (place == 1 ? b : (place == 2 ? c : d));
}

// Uniform on [0, 1) with 24 bits.
DEVICE float random_uniform(const Stream& stream, long long index) {
    return float(random_word(stream, index) >> 8) * (1.0f / 16777216.0f);
}
