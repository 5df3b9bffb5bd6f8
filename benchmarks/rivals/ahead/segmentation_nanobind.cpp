// The loops of segmentation in C++ with nanobind: `benchmarks/ahead_of_time.py`.
//
// A twin of eigentext.tagging.segmentation.kernels with mix and adagrad, in the same order; what
// its comments say of features stands there.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;

using i64 = std::int64_t;
using u64 = std::uint64_t;
using std::max;

template <class T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::object; // an array of numpy

namespace {

constexpr u64 MIXER = 0x9E3779B97F4A7C15, SEED = 0x51A7;
constexpr std::uint32_t SCATTER = 0x9E3779B1;
constexpr int PARAGRAPH = 10, LINE_BREAK = 11, BLANK = 32;
constexpr int PARAGRAPH_CLASS = 1, SPACE = 2, REACH = 8;
enum { EXTENDS = 1, JOINS, FLAG, LEADING, VOWEL, TRAILING, OPEN_SYLLABLE, SYLLABLE, PICTURE };
constexpr int N_KEYS = 64, WHOLE = 48, LONGEST = 14, LAST_OF_WORDS = 13;
constexpr int GLUED = 1, CUT = 2, JOINED = 3;

i64 min(i64 a, i64 b) { return std::min(a, b); }

// ---------------------------------------------------------------- arrays

// A vector becomes an array of numpy that owns it.
template <class T> Out array(std::vector<T> &&values, std::size_t columns = 0) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    const std::size_t shape[2] = {columns ? kept->size() / columns : kept->size(), columns};
    const std::size_t axes = columns ? 2 : 1;
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), axes, shape, owner));
}

// Where an array of a named tuple lies, which keeps it; never a copy in another type.
template <class T> T *item(nb::handle tuple, int i) {
    return nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(tuple[i], false).data();
}

// Keys of the features of one place.
struct Keys {
    u64 key[N_KEYS];
    int n = 0;
    void put(u64 k) { key[n++] = k; }
};

u64 mix(u64 key, u64 part) {
    key = (key ^ part) * MIXER;
    return key ^ (key >> 29);
}

void adagrad(float *weights, float *squares, u64 at, double gradient, double rate) {
    squares[at] += gradient * gradient;
    weights[at] += rate * gradient / std::sqrt(squares[at]);
}

// ---------------------------------------------------------------- squeeze

int is_break(const std::uint32_t *codes, i64 n_codes, i64 i) {
    const auto code = codes[i];
    if (code == 0x2029)
        return 2;
    if (code == 13)
        return i + 1 < n_codes && codes[i + 1] == 10 ? 0 : 1;
    return (code >= 10 && code <= 12) || code == 0x85 || code == 0x2028;
}

bool sticks(int before, int here, i64 flags) {
    if (here == EXTENDS || here == JOINS)
        return true;
    switch (before) {
    case JOINS:
        return here == PICTURE;
    case LEADING:
        return here == LEADING || here == VOWEL || here == OPEN_SYLLABLE || here == SYLLABLE;
    case VOWEL:
    case OPEN_SYLLABLE:
        return here == VOWEL || here == TRAILING;
    case TRAILING:
    case SYLLABLE:
        return here == TRAILING;
    default:
        return here == FLAG && before == FLAG && flags % 2 == 1;
    }
}

nb::tuple squeeze(In<std::uint32_t> text, nb::handle tables, bool paragraphs, bool line_breaks) {
    const auto *class_of = item<const std::uint8_t>(tables, 0);
    const auto *folded = item<const std::uint32_t>(tables, 1);
    const auto *glue_of = item<const std::uint8_t>(tables, 2);
    const auto *codes = text.data();
    const i64 n_codes = text.shape(0);
    std::vector<std::uint32_t> chars;
    std::vector<std::uint8_t> classes, glue;
    std::vector<i64> at;
    for (auto *bytes : {&classes, &glue})
        bytes->reserve(n_codes + 2 * REACH);
    chars.reserve(n_codes + 2 * REACH);
    at.reserve(n_codes + 2 * REACH);
    const auto put = [&](std::uint32_t letter, int kind, bool stuck, i64 where) {
        chars.push_back(letter);
        classes.push_back(kind);
        glue.push_back(stuck);
        at.push_back(where);
    };
    const auto border = [&](i64 where) {
        for (int i = 0; i < REACH; i++)
            put(PARAGRAPH, PARAGRAPH_CLASS, false, where);
    };
    border(0);
    i64 i = n_codes > 0 && codes[0] == 0xFEFF ? 1 : 0;
    i64 flags = 0;
    while (i < n_codes) {
        if (class_of[codes[i]] != SPACE) {
            const int here = glue_of[codes[i]];
            bool stuck = false;
            if (classes.back() != SPACE && classes.back() != PARAGRAPH_CLASS)
                stuck = sticks(glue_of[codes[i - 1]], here, flags);
            else
                flags = 0;
            put(folded[codes[i]], class_of[codes[i]], stuck, i);
            flags = here == FLAG ? flags + 1 : 0;
            i++;
            continue;
        }
        const i64 first = i;
        int breaks = 0;
        for (; i < n_codes && class_of[codes[i]] == SPACE; i++)
            breaks += is_break(codes, n_codes, i);
        if (classes.back() == PARAGRAPH_CLASS || i == n_codes)
            continue;
        if (breaks > 1 && paragraphs)
            border(first);
        else
            put(breaks && line_breaks ? LINE_BREAK : BLANK, SPACE, false, first);
    }
    border(n_codes);
    return nb::make_tuple(array(std::move(chars)), array(std::move(classes)),
                          array(std::move(glue)), array(std::move(at)));
}

// ---------------------------------------------------------------- tables

u64 string_key(const std::uint32_t *chars, i64 start, i64 end) {
    u64 key = SEED;
    for (i64 i = start; i < end; i++)
        key = mix(key, chars[i]);
    return key;
}

template <class T>
void fill(In<std::uint32_t> keys, In<T> values, InOut<std::uint32_t> table_keys,
          InOut<T> table_values) {
    const std::uint32_t mask = table_keys.shape(0) - 1;
    for (std::size_t n = 0; n < keys.shape(0); n++) {
        std::uint32_t at = (keys(n) * SCATTER) & mask;
        while (table_keys(at))
            at = (at + 1) & mask;
        table_keys(at) = keys(n);
        table_values(at) = values(n);
    }
}

template <class T> struct Table {
    const std::uint32_t *keys;
    const T *values;
    std::uint32_t mask;

    Table(const In<std::uint32_t> &k, const In<T> &v)
        : keys(k.data()), values(v.data()), mask(k.shape(0) - 1) {}
    explicit Table(nb::handle known)
        : keys(item<const std::uint32_t>(known, 0)), values(item<const T>(known, 1)),
          mask(nb::len(nb::object(known[0])) - 1) {}

    int value_of(u64 key) const {
        const std::uint32_t half = max<std::uint32_t>(key >> 32, 1);
        for (auto at = (half * SCATTER) & mask; keys[at]; at = (at + 1) & mask)
            if (keys[at] == half)
                return values[at];
        return 0;
    }
};
using Known = Table<std::uint8_t>;

int bucket(i64 count) {
    int step = 0;
    for (; count > 0; step++)
        count = count > 1 ? (count - 1) >> 1 : 0;
    return min(step, 7);
}

template <class T> double total(const T *weights, const Keys &keys, int shift) {
    double score = 0;
    for (int f = 0; f < keys.n; f++)
        score += weights[keys.key[f] >> shift];
    return score;
}

double step(float *weights, float *squares, const Keys &keys, int shift, double gold,
            double rate) {
    const double score = total(weights, keys, shift);
    const double chance = 1 / (1 + std::exp(-std::min(max(score, -30.0), 30.0)));
    const double slope = chance - gold;
    if (std::abs(slope) < 0.005)
        return 0;
    for (int f = 0; f < keys.n; f++)
        adagrad(weights, squares, keys.key[f] >> shift, -slope, rate);
    return -std::log(gold ? chance : 1 - chance);
}

// ---------------------------------------------------------------- boundaries

struct Text {
    const std::uint32_t *chars;
    const std::uint8_t *classes, *glue;
    const i64 *starts, *ends;
    const u64 *hashes;
    const std::uint8_t *longest;
    const i64 *ended;
    i64 n_chunks;

    explicit Text(nb::handle t)
        : chars(item<const std::uint32_t>(t, 0)), classes(item<const std::uint8_t>(t, 1)),
          glue(item<const std::uint8_t>(t, 2)), starts(item<const i64>(t, 3)),
          ends(item<const i64>(t, 4)), hashes(item<const u64>(t, 5)),
          longest(item<const std::uint8_t>(t, 6)), ended(item<const i64>(t, 7)),
          n_chunks(nb::len(nb::object(t[3]))) {}
};

nb::tuple chunks_of(In<std::uint32_t> chars, In<std::uint8_t> classes) {
    std::vector<i64> starts, ends;
    std::vector<u64> hashes;
    for (i64 i = 1; i < i64(classes.shape(0)); i++) {
        if (classes(i) > SPACE && classes(i - 1) <= SPACE)
            starts.push_back(i);
        if (classes(i) <= SPACE && classes(i - 1) > SPACE) {
            ends.push_back(i);
            hashes.push_back(string_key(chars.data(), max<i64>(starts.back(), i - WHOLE), i));
        }
    }
    return nb::make_tuple(array(std::move(starts)), array(std::move(ends)),
                          array(std::move(hashes)));
}

int seen(u64 key, i64 length, i64 start, const i64 *ended, const Known &dictionary) {
    const int count = dictionary.value_of(key);
    return count > 0 && ended[start] == start + length ? count - 1 : count;
}

Out longest_known(In<std::uint32_t> chars, In<std::uint8_t> classes, In<i64> ended,
                  nb::handle known, bool spaces) {
    const Known dictionary(known);
    std::vector<std::uint8_t> longest(chars.shape(0));
    for (i64 i = 0; i < i64(chars.shape(0)); i++) {
        if (classes(i) <= SPACE)
            continue;
        u64 key = SEED;
        for (int length = 1; length <= LONGEST; length++) {
            const i64 at = i + length - 1;
            if (classes(at) == PARAGRAPH_CLASS || (classes(at) == SPACE && !spaces))
                break;
            key = mix(key, chars(at));
            if (classes(at) != SPACE && seen(key, length, i, ended.data(), dictionary) > 0)
                longest[i] = length;
        }
    }
    return array(std::move(longest));
}

int relation_of(i64 there, i64 length) {
    return there == 0 ? 0 : there < length ? 1 : there == length ? 2 : 3;
}

void inside_keys(const Text &text, const Known &dictionary, i64 chunk, i64 j, i64 s, u64 token_key,
                 u64 front, u64 back, Keys &out) {
    const auto *c = text.chars;
    const auto *k = text.classes;
    const i64 start = text.starts[chunk], end = text.ends[chunk];
    out.n = 0;
    const u64 a1 = mix(1, c[j - 1]);
    const u64 a2 = mix(a1, c[j - 2]);
    const u64 a3 = mix(a2, c[j - 3]);
    const u64 a4 = mix(a3, c[j - 4]);
    const u64 a5 = mix(a4, c[j - 5]);
    const u64 b1 = mix(2, c[j]);
    const u64 b2 = mix(b1, c[j + 1]);
    const u64 b3 = mix(b2, c[j + 2]);
    const u64 b4 = mix(b3, c[j + 3]);
    const u64 b5 = mix(b4, c[j + 4]);
    const u64 x1 = mix(3, k[j - 1]);
    const u64 x2 = mix(x1, k[j - 2]);
    const u64 x3 = mix(x2, k[j - 3]);
    const u64 x4 = mix(x3, k[j - 4]);
    const u64 y1 = mix(4, k[j]);
    const u64 y2 = mix(y1, k[j + 1]);
    const u64 y3 = mix(y2, k[j + 2]);
    const u64 y4 = mix(y3, k[j + 3]);
    out.put(a1);
    out.put(a2);
    out.put(a3);
    out.put(a4);
    out.put(a5);
    out.put(b1);
    out.put(b2);
    out.put(b3);
    out.put(b4);
    out.put(b5);
    out.put(mix(a1, b1));
    out.put(mix(a2, b1));
    out.put(mix(a1, b2));
    out.put(mix(a2, b2));
    out.put(mix(a3, b1));
    out.put(mix(a1, b3));
    out.put(mix(a3, b2));
    out.put(mix(a2, b3));
    out.put(mix(a3, b3));
    out.put(mix(a4, b4));
    out.put(mix(x1, y1));
    out.put(mix(x2, y2));
    out.put(mix(x3, y3));
    out.put(mix(x4, y1));
    out.put(mix(x1, y4));
    out.put(mix(x4, y4));
    out.put(mix(a1, y2));
    out.put(mix(x2, b1));
    out.put(mix(a1, y3));
    out.put(mix(x3, b1));
    const u64 kinds = mix(x1, y1);
    const i64 before = min(j - start, 8), behind = min(end - j, 8);
    out.put(mix(mix(mix(5, before), k[j - 1]), b1));
    out.put(mix(mix(mix(6, behind), k[j]), a1));
    out.put(mix(mix(mix(7, before), behind), kinds));
    const auto following = k[end + 1];
    if (end - start <= WHOLE) {
        out.put(mix(mix(8, front), back));
        out.put(mix(9, front));
        out.put(mix(10, back));
        out.put(mix(mix(11, front), b1));
        out.put(mix(mix(12, back), a1));
        out.put(mix(mix(13, front), following));
    }
    out.put(mix(mix(mix(14, behind), a1), mix(b1, following)));
    out.put(mix(mix(15, token_key), b1));
    out.put(mix(mix(16, token_key), b2));
    out.put(mix(mix(17, token_key), y1));
    out.put(mix(mix(18, min(j - s, 12)), kinds));
    const int ours = bucket(seen(token_key, j - s, s, text.ended, dictionary));
    const i64 there = text.longest[s], here = text.longest[j];
    const int relation = relation_of(there, j - s);
    out.put(mix(mix(19, ours), kinds));
    out.put(mix(mix(mix(20, ours), relation), min(here, 8)));
    out.put(mix(mix(mix(21, relation), min(there, 8)), min(here, 8)));
    out.put(mix(mix(mix(mix(22, ours), relation), min(here, 4)), kinds));
    const int rest = here == 0 ? 0 : j + here < end ? 1 : j + here == end ? 2 : 3;
    out.put(mix(mix(mix(mix(23, ours > 0), relation), rest), kinds));
    if (end - j <= 2) {
        const u64 ahead = mix(b2, following);
        out.put(mix(mix(24, k[j - 1]), ahead));
        out.put(mix(mix(25, a3), ahead));
        out.put(mix(mix(mix(26, x3), min(j - start, 6)), ahead));
        if (k[end] == SPACE) {
            out.put(mix(mix(27, text.hashes[chunk + 1]), b2));
            out.put(mix(mix(mix(28, text.hashes[chunk + 1]), b2), k[j - 1]));
        }
    }
}

void gap_keys(const Text &text, const Known &dictionary, i64 chunk, i64 s, u64 token_key,
              Keys &out) {
    const auto *c = text.chars;
    const auto *k = text.classes;
    const i64 start = text.starts[chunk], end = text.ends[chunk], j = start - 1;
    const u64 left = text.hashes[chunk - 1], right = text.hashes[chunk];
    const u64 more = k[end] == SPACE ? text.hashes[chunk + 1] : 0;
    const u64 less = k[text.starts[chunk - 1] - 1] == SPACE ? text.hashes[chunk - 2] : 0;
    out.n = 0;
    const u64 x1 = mix(33, k[j - 1]);
    const u64 x2 = mix(x1, k[j - 2]);
    const u64 x3 = mix(x2, k[j - 3]);
    const u64 y1 = mix(34, k[start]);
    const u64 y2 = mix(y1, k[start + 1]);
    const u64 y3 = mix(y2, k[start + 2]);
    const u64 y4 = mix(y3, k[start + 3]);
    const u64 kinds = mix(x1, y1);
    out.put(mix(35, left));
    out.put(mix(36, right));
    out.put(mix(mix(37, left), right));
    out.put(mix(38, token_key));
    out.put(mix(mix(39, token_key), right));
    out.put(mix(mix(40, right), more));
    out.put(mix(mix(41, less), left));
    out.put(mix(mix(mix(42, less), left), right));
    out.put(mix(mix(mix(43, left), right), more));
    out.put(kinds);
    out.put(mix(x3, y3));
    out.put(mix(mix(x3, y4), min(end - start, 8)));
    out.put(mix(mix(mix(44, min(j - s, 8)), min(end - start, 8)), kinds));
    out.put(mix(mix(45, left), y2));
    out.put(mix(mix(46, right), x2));
    u64 key = mix(token_key, c[j]);
    for (i64 at = start; at < min(end, start + WHOLE); at++)
        key = mix(key, c[at]);
    const int ours = bucket(seen(token_key, j - s, s, text.ended, dictionary));
    const int both = bucket(seen(key, end - s, s, text.ended, dictionary));
    const i64 there = text.longest[s], here = text.longest[start];
    const int relation = relation_of(there, j - s), wider = here > end - start;
    out.put(mix(mix(mix(47, ours), both), relation));
    out.put(mix(mix(mix(48, ours), both), wider));
    out.put(mix(mix(mix(49, both), relation), kinds));
    out.put(mix(mix(mix(50, both), relation), wider));
}

struct ChunkHashes {
    u64 fronts[WHOLE + 1], backs[WHOLE + 1];

    void set(const std::uint32_t *chars, i64 start, i64 end) {
        const i64 length = min(end - start, WHOLE);
        fronts[0] = backs[length] = SEED;
        for (i64 i = 0; i < length; i++)
            fronts[i + 1] = mix(fronts[i], chars[start + i]);
        for (i64 i = length - 1; i >= 0; i--)
            backs[i] = mix(backs[i + 1], chars[start + i]);
    }
};

double boundaries_train(nb::handle squeezed, nb::handle known, In<i64> token_starts, In<i64> order,
                        InOut<float> weights, InOut<float> squares, int shift, double rate,
                        bool spaces) {
    const Text text(squeezed);
    const Known dictionary(known);
    Keys keys;
    ChunkHashes hashes;
    double loss = 0;
    const auto *begun = token_starts.data();
    const auto learn = [&](double gold) {
        loss += step(weights.data(), squares.data(), keys, shift, gold, rate);
    };
    for (std::size_t o = 0; o < order.shape(0); o++) {
        const i64 chunk = order(o), start = text.starts[chunk], end = text.ends[chunk];
        i64 s = start;
        if (spaces && text.classes[start - 1] == SPACE) {
            s = begun[start - 2];
            gap_keys(text, dictionary, chunk, s, string_key(text.chars, s, start - 1), keys);
            learn(begun[start] == start);
            s = begun[start];
        }
        u64 key = string_key(text.chars, s, start);
        if (end - start > 1)
            hashes.set(text.chars, start, end);
        for (i64 j = start + 1; j < end; j++) {
            key = mix(key, text.chars[j - 1]);
            if (text.glue[j])
                continue;
            const i64 at = min(j - start, WHOLE);
            inside_keys(text, dictionary, chunk, j, s, key, hashes.fronts[at], hashes.backs[at],
                        keys);
            learn(begun[j] == j);
            if (begun[j] == j) {
                s = j;
                key = SEED;
            }
        }
    }
    return loss;
}

template <class W>
nb::tuple boundaries_answer(nb::handle squeezed, nb::handle known, In<W> weights, int shift,
                            bool spaces, InOut<double> odds) {
    const Text text(squeezed);
    const Known dictionary(known);
    Keys keys;
    ChunkHashes hashes;
    const bool told = odds.shape(0) > 0;
    std::vector<i64> starts, ends;
    const auto put = [&](i64 start, i64 end) {
        starts.push_back(start);
        ends.push_back(end);
    };
    i64 s = 0;
    u64 key = SEED;
    for (i64 chunk = 0; chunk < text.n_chunks; chunk++) {
        const i64 start = text.starts[chunk], end = text.ends[chunk];
        bool joined = false;
        if (text.classes[start - 1] == SPACE && chunk > 0) {
            const int decided = text.glue[start];
            if (decided == CUT || decided == JOINED) {
                joined = decided == JOINED;
            } else if (spaces) {
                gap_keys(text, dictionary, chunk, s, key, keys);
                const double score = total(weights.data(), keys, shift);
                joined = score < 0;
                if (told)
                    odds(start) = score;
            }
        }
        if (joined) {
            key = mix(key, text.chars[start - 1]);
        } else {
            if (chunk > 0)
                put(s, text.ends[chunk - 1]);
            s = start;
            key = SEED;
        }
        if (end - start > 1)
            hashes.set(text.chars, start, end);
        for (i64 j = start + 1; j < end; j++) {
            key = mix(key, text.chars[j - 1]);
            if (text.glue[j] == GLUED || text.glue[j] == JOINED)
                continue;
            double score = 1;
            if (text.glue[j] != CUT) {
                const i64 at = min(j - start, WHOLE);
                inside_keys(text, dictionary, chunk, j, s, key, hashes.fronts[at],
                            hashes.backs[at], keys);
                score = total(weights.data(), keys, shift);
                if (told)
                    odds(j) = score;
            }
            if (score > 0) {
                put(s, j);
                s = j;
                key = SEED;
            }
        }
        key = mix(key, text.chars[end - 1]);
    }
    if (text.n_chunks)
        put(s, text.ends[text.n_chunks - 1]);
    return nb::make_tuple(array(std::move(starts)), array(std::move(ends)));
}

Out token_keys(In<std::uint32_t> chars, In<i64> starts, In<i64> ends) {
    std::vector<u64> keys(starts.shape(0));
    for (std::size_t t = 0; t < keys.size(); t++)
        keys[t] = string_key(chars.data(), starts(t), ends(t));
    return array(std::move(keys));
}

// ---------------------------------------------------------------- sentence_ends

struct Tokens {
    u64 *hashes, *shapes;
    std::uint8_t *firsts;
    u64 *lasts;
    i64 *lengths;
    std::uint8_t *gaps;
    std::int8_t *opens;
    u64 *cases, *begins, *finals, *endings, *tails, *heads;
    i64 n;

    explicit Tokens(nb::handle t)
        : hashes(item<u64>(t, 0)), shapes(item<u64>(t, 1)), firsts(item<std::uint8_t>(t, 2)),
          lasts(item<u64>(t, 3)), lengths(item<i64>(t, 4)), gaps(item<std::uint8_t>(t, 5)),
          opens(item<std::int8_t>(t, 6)), cases(item<u64>(t, 7)), begins(item<u64>(t, 8)),
          finals(item<u64>(t, 9)), endings(item<u64>(t, 10)), tails(item<u64>(t, 11)),
          heads(item<u64>(t, 12)), n(nb::len(nb::object(t[0]))) {}
};

Out habits_of(In<std::uint32_t> chars, In<i64> starts, In<i64> ends, In<std::uint32_t> table_keys,
              In<std::uint16_t> table_values) {
    const Table<std::uint16_t> table(table_keys, table_values);
    std::vector<std::uint16_t> habits(starts.shape(0));
    for (std::size_t t = 0; t < habits.size(); t++)
        habits[t] = table.value_of(string_key(chars.data(), starts(t), ends(t)));
    return array(std::move(habits));
}

nb::tuple describe(In<std::uint32_t> letters, In<std::uint8_t> classes, In<i64> starts,
                   In<i64> ends, In<std::uint16_t> habits, std::uint32_t line_break) {
    const auto *chars = letters.data();
    const std::size_t n = starts.shape(0);
    std::vector<u64> hashes(n), shapes(n), lasts(n), cases(n), begins(n), finals(n), endings(n);
    std::vector<u64> tails(3 * n), heads(3 * n);
    std::vector<std::uint8_t> firsts(n), gaps(n);
    std::vector<std::int8_t> opens(n);
    std::vector<i64> lengths(n);
    for (std::size_t t = 0; t < n; t++) {
        const i64 start = starts(t), end = ends(t);
        u64 key = SEED, shape = SEED;
        int last = 0;
        for (i64 i = start; i < end; i++) {
            key = mix(key, chars[i]);
            if (classes(i) != last)
                shape = mix(shape, classes(i));
            last = classes(i);
        }
        hashes[t] = key;
        shapes[t] = shape;
        firsts[t] = classes(start);
        lasts[t] = mix(mix(end - start > 1, chars[end - 1]), classes(end - 2));
        lengths[t] = end - start;
        if (classes(end) == SPACE)
            gaps[t] = chars[end] == line_break ? 2 : 1;
        else if (classes(end) == PARAGRAPH_CLASS)
            gaps[t] = 3;
        const int kind = classes(start);
        if (end - start == 1) {
            if (kind == 14 || kind == 16)
                opens[t] = 1;
            else if (kind == 15 || kind == 17)
                opens[t] = -1;
            else if (chars[start] == 34)
                opens[t] = 2;
        }
        const int habit = habits(t);
        cases[t] = mix(habit & 31, kind);
        begins[t] = mix((habit >> 5) & 31, kind);
        finals[t] = mix(habit >> 10, kind);
        u64 ending = 7;
        for (i64 i = max(start, end - 3); i < end; i++)
            ending = mix(ending, chars[i]);
        endings[t] = mix(ending, kind);
        for (int k = 0; k < 3; k++) {
            tails[3 * t + k] = string_key(chars, max(start, end - 2 - k), end);
            heads[3 * t + k] = string_key(chars, start, min(start + 2 + k, end));
        }
    }
    return nb::make_tuple(
        array(std::move(hashes)), array(std::move(shapes)), array(std::move(firsts)),
        array(std::move(lasts)), array(std::move(lengths)), array(std::move(gaps)),
        array(std::move(opens)), array(std::move(cases)), array(std::move(begins)),
        array(std::move(finals)), array(std::move(endings)), array(std::move(tails), 3),
        array(std::move(heads), 3));
}

void keys_at(const Tokens &tokens, i64 first, i64 last, i64 t, i64 b, int depth, int quotes,
             Keys &out) {
    const auto *h = tokens.hashes, *sh = tokens.shapes;
    const u64 none = 99;
    const u64 t0 = h[t], s0 = sh[t], t1 = h[t + 1], s1 = sh[t + 1];
    const u64 t2 = t + 2 <= last ? h[t + 2] : none, s2 = t + 2 <= last ? sh[t + 2] : none;
    const u64 tm1 = t > first ? h[t - 1] : none, sm1 = t > first ? sh[t - 1] : none;
    const u64 tm2 = t - 1 > first ? h[t - 2] : none;
    const int gap = tokens.gaps[t], gap1 = tokens.gaps[t + 1];
    const u64 case1 = tokens.cases[t + 1], begin1 = tokens.begins[t + 1],
              final0 = tokens.finals[t];
    const i64 size = t + 1 - b < 9 ? bucket(t + 1 - b) : 8 + min((t + 1 - b) / 10, 5);
    const i64 left = min(last - t, 6);
    const u64 state = mix(mix(1, min(max(depth, 0), 2)), quotes);
    out.n = 0;
    out.put(mix(101, t0));
    out.put(mix(mix(102, t0), gap));
    out.put(mix(mix(103, t0), t1));
    out.put(mix(mix(104, t1), tokens.firsts[t + 1]));
    out.put(mix(mix(105, s0), s1));
    out.put(mix(mix(mix(106, t0), s1), gap));
    out.put(mix(mix(mix(107, t0), s1), s2));
    out.put(mix(mix(mix(108, s0), t1), tokens.firsts[t + 1]));
    out.put(mix(mix(109, tm1), t0));
    out.put(mix(mix(mix(110, tm1), t0), s1));
    out.put(mix(mix(mix(111, tm1), t0), t1));
    out.put(mix(mix(mix(112, t0), t1), t2));
    out.put(mix(mix(mix(113, t0), s1), case1));
    out.put(mix(mix(mix(114, s0), s1), case1));
    out.put(mix(mix(mix(mix(115, sm1), t0), case1), s2));
    out.put(mix(mix(116, size), t0));
    out.put(mix(mix(117, size), mix(s0, s1)));
    out.put(mix(mix(118, left), t0));
    out.put(mix(mix(119, state), t0));
    out.put(mix(mix(mix(120, state), t0), t1));
    out.put(mix(mix(mix(121, state), t0), case1));
    out.put(mix(mix(122, h[b]), t0));
    out.put(mix(mix(mix(123, sh[b]), s0), s1));
    out.put(mix(mix(mix(124, tokens.lasts[t]), min(tokens.lengths[t], 6)), s1));
    out.put(mix(mix(mix(125, tokens.lasts[t]), gap), case1));
    out.put(mix(mix(126, t1), t2));
    out.put(mix(mix(mix(127, sm1), s0), mix(s1, s2)));
    out.put(mix(mix(mix(128, tm2), tm1), t0));
    out.put(mix(mix(mix(129, gap), gap1), mix(s0, s1)));
    out.put(mix(mix(mix(130, gap), case1), size));
    out.put(mix(mix(mix(131, gap), left), mix(s0, s1)));
    out.put(mix(132, gap));
    out.put(mix(mix(mix(133, t1), tokens.firsts[t + 1]), gap));
    out.put(mix(mix(134, s0), begin1));
    out.put(mix(mix(135, t0), begin1));
    out.put(mix(mix(136, final0), begin1));
    out.put(mix(mix(137, final0), case1));
    out.put(mix(mix(138, final0), s1));
    out.put(mix(mix(mix(139, final0), case1), begin1));
    out.put(mix(mix(mix(140, s0), case1), begin1));
    out.put(mix(mix(141, tokens.endings[t]), begin1));
    out.put(mix(mix(mix(142, gap), case1), begin1));
    for (int k = 0; k < 3; k++) {
        const u64 before = t > first ? tokens.tails[3 * (t - 1) + k] : none;
        out.put(mix(mix(mix(143, k), t0), before));
        out.put(mix(mix(mix(144, k), tokens.tails[3 * t + k]), gap));
        out.put(mix(mix(mix(145, k), tokens.heads[3 * (t + 1) + k]), s0));
        out.put(mix(mix(mix(146, k), tokens.heads[3 * (t + 1) + k]), t0));
    }
}

// Brackets and quotes that are open.
struct Open {
    int depth = 0, quotes = 0;
    void read(int opens) {
        if (opens == 2)
            quotes = 1 - quotes;
        else
            depth = max(depth + opens, 0);
    }
};

double sentence_ends_train(nb::handle described, In<i64> lasts, In<i64> ends, In<i64> order,
                           InOut<float> weights, InOut<float> squares, int shift, double rate) {
    const Tokens tokens(described);
    Keys keys;
    double loss = 0;
    for (std::size_t o = 0; o < order.shape(0); o++) {
        const i64 sentence = order(o), b = sentence > 0 ? ends(sentence - 1) + 1 : 0;
        const i64 p =
            std::lower_bound(lasts.data(), lasts.data() + lasts.shape(0), b) - lasts.data();
        const i64 first = p > 0 ? lasts(p - 1) + 1 : 0, last = lasts(p);
        Open open;
        for (i64 t = b; t <= ends(sentence); t++) {
            open.read(tokens.opens[t]);
            if (t < last) {
                keys_at(tokens, first, last, t, b, open.depth, open.quotes, keys);
            } else if (t == last && last == ends(sentence) && t + 1 < tokens.n &&
                       tokens.firsts[t] > LAST_OF_WORDS) {
                tokens.gaps[t] = 1;
                keys_at(tokens, first, lasts(p + 1), t, b, open.depth, open.quotes, keys);
                tokens.gaps[t] = 3;
            } else {
                break;
            }
            loss += step(weights.data(), squares.data(), keys, shift, t == ends(sentence), rate);
        }
    }
    return loss;
}

template <class W>
Out sentence_ends_answer(nb::handle described, In<i64> lasts, In<W> weights, int shift,
                         i64 threshold, In<std::int8_t> decided, InOut<double> odds) {
    const Tokens tokens(described);
    Keys keys;
    std::vector<std::uint8_t> is_end(tokens.n);
    for (std::size_t p = 0; p < lasts.shape(0); p++) {
        const i64 first = p > 0 ? lasts(p - 1) + 1 : 0;
        i64 b = first;
        Open open;
        for (i64 t = first; t < lasts(p); t++) {
            open.read(tokens.opens[t]);
            double score;
            if (decided.shape(0) > 0 && decided(t)) {
                score = decided(t);
            } else {
                keys_at(tokens, first, lasts(p), t, b, open.depth, open.quotes, keys);
                score = total(weights.data(), keys, shift) - threshold;
                if (odds.shape(0) > 0)
                    odds(t) = score;
            }
            if (score > 0) {
                is_end[t] = 1;
                b = t + 1;
                open = {};
            }
        }
        is_end[lasts(p)] = 1;
    }
    return array(std::move(is_end));
}

// ---------------------------------------------------------------- multiword

Out with_sides(In2<u64> base, In2<u64> sides, In<u64> forms) {
    const std::size_t n = base.shape(0), width = base.shape(1), more = sides.shape(1);
    const std::size_t columns = width + more + 2;
    std::vector<u64> out(n * columns);
    for (std::size_t i = 0; i < n; i++) {
        auto *row = &out[i * columns];
        for (std::size_t f = 0; f < width; f++)
            row[f] = base(i, f) ? mix(f, base(i, f)) : 0;
        for (std::size_t f = 0; f < more; f++) {
            const u64 key = mix(100 + f, sides(i, f));
            row[width + f] = mix(key, forms(i));
            if (forms(i) && f < 2)
                row[width + more + f] = key;
        }
    }
    return array(std::move(out), columns);
}

void own_keys(const i64 *counts, u64 key, Keys &out) {
    const i64 kind = counts[0], stem = counts[1], form = counts[2], length = counts[3],
              lemma = counts[4];
    out.n = 0;
    if (kind == 0)
        return;
    if (length == 0) {
        out.put(mix(207, form));
        out.put(mix(mix(208, form), stem));
        out.put(mix(209, lemma));
        return;
    }
    const u64 rule = mix(key, stem);
    out.put(mix(201, rule));
    out.put(mix(mix(202, rule), form));
    out.put(mix(mix(mix(203, kind), stem), form));
    out.put(mix(mix(204, key), length));
    out.put(mix(mix(mix(205, kind), stem), length));
    out.put(mix(mix(206, rule), length));
    out.put(mix(mix(210, key), lemma));
    out.put(mix(mix(mix(211, kind), stem), lemma));
}

// The tokens with a choice, and their candidates.
struct Choices {
    const In2<u64> &base;
    const In<i64> &starts;
    const In<u64> &keys;
    const In2<i64> &counts;
    Keys own;
    std::vector<double> scores;

    // Calls at(place in the table of weights) for all features of candidate c.
    template <class F> void each(i64 token, i64 c, int shift, F at) {
        for (std::size_t f = 0; f < base.shape(1); f++)
            if (base(token, f))
                at(mix(base(token, f), keys(c)) >> shift);
        own_keys(&counts(c, 0), keys(c), own);
        for (int f = 0; f < own.n; f++)
            at(own.key[f] >> shift);
    }

    template <class W> void score(i64 token, const W *weights, int shift) {
        scores.clear();
        for (i64 c = starts(token); c < starts(token + 1); c++) {
            double score = 0;
            each(token, c, shift, [&](u64 at) { score += weights[at]; });
            scores.push_back(score);
        }
    }
};

double multiword_train(In2<u64> base, In<i64> starts, In<u64> keys, In2<i64> counts, In<i64> gold,
                       In<i64> order, InOut<float> weights, InOut<float> squares, int shift,
                       double rate) {
    Choices choices{base, starts, keys, counts, {}, {}};
    auto &scores = choices.scores;
    double loss = 0;
    for (std::size_t o = 0; o < order.shape(0); o++) {
        const i64 token = order(o);
        choices.score(token, weights.data(), shift);
        const double highest = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        for (double &score : scores)
            total += score = std::exp(score - highest);
        loss -= std::log(max(scores[gold(token)] / total, 1e-30));
        for (std::size_t c = 0; c < scores.size(); c++) {
            const double slope = scores[c] / total - (i64(c) == gold(token));
            if (std::abs(slope) >= 0.002)
                choices.each(token, starts(token) + c, shift, [&](u64 at) {
                    adagrad(weights.data(), squares.data(), at, -slope, rate);
                });
        }
    }
    return loss;
}

template <class W>
Out choose(In2<u64> base, In<i64> starts, In<u64> keys, In2<i64> counts, In<W> weights,
           int shift) {
    Choices choices{base, starts, keys, counts, {}, {}};
    std::vector<i64> chosen(starts.shape(0) - 1);
    for (std::size_t token = 0; token < chosen.size(); token++) {
        choices.score(token, weights.data(), shift);
        const auto &scores = choices.scores;
        chosen[token] = std::max_element(scores.begin(), scores.end()) - scores.begin();
    }
    return array(std::move(chosen));
}

} // namespace

NB_MODULE(segmentation_nanobind, m) {
    m.def("squeeze", &squeeze);
    m.def("fill", &fill<std::uint8_t>);
    m.def("fill", &fill<std::uint16_t>);
    m.def("chunks_of", &chunks_of);
    m.def("longest_known", &longest_known);
    m.def("boundaries_train", &boundaries_train);
    m.def("boundaries_answer", &boundaries_answer<std::int8_t>);
    m.def("token_keys", &token_keys);
    m.def("habits_of", &habits_of);
    m.def("describe", &describe);
    m.def("sentence_ends_train", &sentence_ends_train);
    m.def("sentence_ends_answer", &sentence_ends_answer<std::int8_t>);
    m.def("with_sides", &with_sides);
    m.def("multiword_train", &multiword_train);
    m.def("choose", &choose<std::int8_t>);
}
