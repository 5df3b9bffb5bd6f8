// Parsing on a graphics card: one block of threads a sentence, one warp a span.
//
// Kernels in the order in which they run, each over all sentences of a batch:
//
//   brackets     scores and marginals of the bracket model; closes spans
//   coarse       inside and outside of the plain PCFG; counts what survives its threshold
//   survivors    lists the surviving rule applications, by their span
//   count_states room that the fine pass needs
//   fine         inside and outside with states; posteriors
//   decode       the best tree by additive scores, in preorder
//   tree_score   log p of that tree
//
// They calculate what the compiled loops of ``kernels`` do (brackets.py, coarse.py, fine.py,
// decode.py, trees.py); read the equations there.  Spans of one width know nothing of one another,
// so the warps of a block share them; a barrier stands between widths.  What an item gets from
// above is kept apart by the side it hangs on: a left child has one parent of a given width, and a
// right child one, so that no two warps add to the same number and the order of sums is fixed.
//
// An item is an entry of a cell of the coarse pass, (span, label), that a surviving application
// touches (``entry_used``).
//
// The same text is C++ for the processor (no __CUDACC__), where threads are emulated: the tests
// run it there.

#ifdef __CUDACC__
#define DEVICE __device__ static inline
#define KERNEL extern "C" __global__ void
#define BLOCK ((int)blockIdx.x)
#define LANES 32
#define LANE ((int)(threadIdx.x & 31))
#define WARP ((int)(threadIdx.x >> 5))
#define WARPS ((int)(blockDim.x >> 5))
#define EVERYBODY 0xffffffffu
extern __shared__ double shared_memory[];
DEVICE void sync_warp() { __syncwarp(); }
DEVICE void sync_block() { __syncthreads(); }
template <class T> DEVICE T from_lane(T value, int lane) {
  return __shfl_sync(EVERYBODY, value, lane);
}
DEVICE unsigned lanes_with(bool yes) { return __ballot_sync(EVERYBODY, yes); }
DEVICE int n_ones(unsigned bits) { return __popc(bits); }
template <class T> DEVICE void add_to(T *sum, T value) { atomicAdd(sum, value); }
DEVICE int take(int *counter, int n) { return atomicAdd(counter, n); }
#else
#include "emulated.h"
#endif

typedef unsigned long long u64;
typedef long long ll;

// Every field takes 8 bytes: the driver fills them in by their names.
struct Job {
  // the sentences: words and spans of sentence b stand from first_word[b], first_span[b] on
  const int *first_word, *first_span;
  // words: row of each in the table of emissions; tags of a row, their scores and states
  const int *row, *row_tags, *tag_label;
  const double *tag_score;
  const int *tag_states;
  const float *states;
  // the bracket model: keys with two places of padding on both sides, punctuation before borders
  const u64 *key_word, *key_tag;
  const int *marks;
  const float *bracket_table;
  ll bracket_bits;
  double bracket_weight, bracket_threshold;
  double *bracket_score, *bracket_inside, *bracket_marginal, *weight;
  unsigned char *closed;
  // the plain PCFG: rules with children b, c stand from pair[b, c] to pair[b, c + 1]
  ll n_labels;
  const int *pair, *parent_of, *rule_number;
  const double *rule_p, *prior, *root_p, *beam;
  double threshold;
  // its cells: entries of sentence b have the room from first_entry[b] on
  const int *first_entry;
  int *next_entry, *cell_begin, *cell_end;
  double *scale;
  int *label;
  float *value;
  double *out_left, *out_right;
  // survivors: those of span s stand from app_ptr[s] to app_ptr[s + 1]
  int *app_count;
  const int *app_ptr;
  int *app_rule, *app_split, *app_parent, *app_left, *app_right;
  float *app_coarse;
  unsigned char *entry_used;
  // the model with states: tensors in low rank, see low_rank.py
  const int *rules, *m, *label_ptr, *rank, *low_ptr;
  const float *low_values, *low_factor, *root;
  ll most_states;
  int *state_count;
  const int *state_ptr;
  int *entry_states;
  float *inside, *outside_left, *outside_right;
  double *fine_scale;
  float *app_post, *entry_post;
  int *negative;
  float *z;
  // the decoder
  const int *chain_ptr, *chain_number;
  ll by_gain;
  double by_rules;
  double *gain, *best;
  int *choice, *stack;
  // answers: nodes of sentence b, in preorder, stand from 2 first_word[b] - b on
  int *status, *node_label, *node_rule;
  double *score, *log_p, *node_states;
};

enum { PARSED = 0, NO_TREE = 1, NO_ROOM = 2, NO_WEIGHT = 3 };

#define NOTHING -1e300  // log of 0
#define IS_NOTHING(x) ((x) < -1e299)

template <class T> DEVICE T sum_lanes(T x) {
  for (int d = LANES / 2; d > 0; d /= 2) x += from_lane(x, LANE ^ d);
  return x;
}
template <class T> DEVICE T max_lanes(T x) {
  for (int d = LANES / 2; d > 0; d /= 2) {
    T y = from_lane(x, LANE ^ d);
    x = y > x ? y : x;
  }
  return x;
}

// Number of the span of words i..j-1 of an n-word sentence.
DEVICE int span_id(int i, int j, int n) { return i * n - (i * (i - 1)) / 2 + (j - i - 1); }

// ---------------------------------------------------------------------------------- brackets

#define N_BORDER 7
#define N_SPAN 14
#define SHORT 6

DEVICE u64 mix(u64 seed, u64 key) {
  u64 value = (seed ^ key) * MIXER;
  return value ^ (value >> 29);
}

DEVICE u64 length_class(int length) {
  if (length <= SHORT) return length;
  int bound = 8, number = 7;
  while (length > bound && number < 13) {
    bound += bound / 3 + 1;
    number += 1;
  }
  return number;
}

// The weights of a border as the begin (side 0) or the end (side 1) of a span.
DEVICE float border_weight(const Job &J, const u64 *word, const u64 *tag, int border, int side) {
  const int at = border + 2, shift = 64 - (int)J.bracket_bits;
  const float *w = J.bracket_table;
  const u64 seed = 100 * (side + 1);
  const u64 tags = mix(mix(seed, tag[at - 1]), tag[at]);
  const u64 behind = mix(mix(tags, 4), tag[at - 2]);
  float total = 0;
  total += w[tags >> shift];
  total += w[mix(mix(seed + 1, word[at - 1]), tag[at]) >> shift];
  total += w[mix(mix(seed + 2, tag[at - 1]), word[at]) >> shift];
  total += w[mix(mix(seed + 3, word[at - 1]), word[at]) >> shift];
  total += w[behind >> shift];
  total += w[mix(mix(tags, 5), tag[at + 1]) >> shift];
  total += w[mix(behind, tag[at + 1]) >> shift];
  return total;
}

// The same of both borders together, added to what is there.
DEVICE float span_weight(const Job &J, const u64 *word, const u64 *tag, const int *marks_at, int i,
                         int j, float total) {
  const int first = i + 2, behind = j + 2, last = behind - 1, before = first - 1;
  const int shift = 64 - (int)J.bracket_bits;
  const u64 length = length_class(j - i);
  const int n_marks = marks_at[j] - marks_at[i];
  const u64 marks = n_marks < 3 ? n_marks : 3;
  const u64 seed = 300;
  const u64 corners = mix(mix(seed + 4, tag[before]), tag[first]);
  u64 within = mix(seed + 13, tag[behind]);
  if (j - i <= SHORT) {
    for (int at = first; at < behind; at++) within = mix(within, tag[at]);
  } else {
    within = mix(mix(mix(within, 14), tag[first]), tag[first + 1]);
    within = mix(mix(within, tag[last - 1]), tag[last]);
  }
  const u64 features[N_SPAN] = {
      mix(mix(mix(seed, tag[first]), tag[last]), length),
      mix(mix(mix(seed + 1, tag[before]), tag[behind]), length),
      mix(mix(mix(seed + 2, tag[first]), tag[behind]), length),
      mix(mix(mix(seed + 3, tag[before]), tag[last]), length),
      mix(mix(corners, tag[last]), tag[behind]),
      mix(mix(seed + 5, word[first]), word[last]),
      mix(mix(seed + 6, word[before]), word[behind]),
      mix(mix(mix(seed + 7, word[first]), tag[last]), tag[behind]),
      mix(mix(mix(seed + 8, tag[before]), tag[first]), word[last]),
      mix(mix(seed + 9, word[first]), length),
      mix(mix(seed + 10, word[behind]), length),
      mix(mix(mix(corners, 11), tag[behind]), marks),
      mix(mix(mix(seed + 12, tag[behind]), length), marks),
      within,
  };
  for (int f = 0; f < N_SPAN; f++) total += J.bracket_table[features[f] >> shift];
  return total;
}

#define FAINT_BRACKET -20.0

KERNEL brackets(const Job *job) {
  const Job J = *job;
  const int b = BLOCK, from = J.first_word[b], n = J.first_word[b + 1] - from;
  const int thread = WARP * LANES + LANE, threads = WARPS * LANES;
  const int spans = J.first_span[b], n_spans = n * (n + 1) / 2;
  unsigned char *closed = J.closed + spans;
  double *weight = J.weight + spans;
  if (J.bracket_bits == 0 || n < 3) {
    for (int s = thread; s < n_spans; s += threads) closed[s] = 0, weight[s] = 0.0;
    return;
  }
  const u64 *word = J.key_word + from + 4 * b, *tag = J.key_tag + from + 4 * b;
  const int *marks = J.marks + from + b;
  double *score = J.bracket_score + spans, *inside = J.bracket_inside + spans;
  double *marginal = J.bracket_marginal + spans;
  float *border = (float *)shared_memory;  // (n + 1, 2)
  for (int at = thread; at < 2 * (n + 1); at += threads)
    border[at] = border_weight(J, word, tag, at / 2, at % 2);
  sync_block();
  for (int i = WARP; i < n; i += WARPS)
    for (int j = i + 1 + LANE; j <= n; j += LANES) {
      const int s = span_id(i, j, n);
      score[s] = j == i + 1 ? 0.0 : span_weight(J, word, tag, marks, i, j,
                                                border[2 * i] + border[2 * j + 1]);
      if (j == i + 1) inside[s] = 0.0;
    }
  sync_block();
  for (int w = 2; w <= n; w++) {
    for (int i = thread; i + w <= n; i += threads) {
      const int j = i + w, s = span_id(i, j, n);
      double top = NOTHING, total = 0.0;
      for (int k = i + 1; k < j; k++) {
        const double both = inside[span_id(i, k, n)] + inside[span_id(k, j, n)];
        if (both > top) top = both;
      }
      for (int k = i + 1; k < j; k++) {
        const double less = inside[span_id(i, k, n)] + inside[span_id(k, j, n)] - top;
        if (less > FAINT_BRACKET) total += exp(less);
      }
      inside[s] = top + log(total) + score[s];
    }
    sync_block();
  }
  // a span asks its parents: those that begin where it does, then those that end there
  for (int w = n; w >= 1; w--) {
    for (int i = thread; i + w <= n; i += threads) {
      const int j = i + w, s = span_id(i, j, n);
      double total = w == n ? 1.0 : 0.0;
      for (int end = j + 1; end <= n; end++) {
        const int p = span_id(i, end, n);
        if (marginal[p] < 1e-9) continue;
        const double less = inside[s] + inside[span_id(j, end, n)] - (inside[p] - score[p]);
        if (less > FAINT_BRACKET) total += marginal[p] * exp(less);
      }
      for (int begin = 0; begin < i; begin++) {
        const int p = span_id(begin, j, n);
        if (marginal[p] < 1e-9) continue;
        const double less = inside[span_id(begin, i, n)] + inside[s] - (inside[p] - score[p]);
        if (less > FAINT_BRACKET) total += marginal[p] * exp(less);
      }
      marginal[s] = total;
    }
    sync_block();
  }
  for (int s = thread; s < n_spans; s += threads) {
    closed[s] = marginal[s] < J.bracket_threshold;
    weight[s] = J.bracket_weight * score[s];
  }
}

// ------------------------------------------------------------------------------------ coarse

#define FAINT_COARSE -60.0

// One cell by one warp; ``sums`` (labels) are 0 before and behind.
DEVICE void coarse_cell(const Job &J, int b, int i, int j, int n, double *sums) {
  const int spans = J.first_span[b], s = spans + span_id(i, j, n), L = (int)J.n_labels;
  if (LANE == 0) {
    J.cell_begin[s] = J.cell_end[s] = J.first_entry[b];
    J.scale[s] = NOTHING;
    J.app_count[s] = 0;
  }
  if (J.closed[s]) return;
  double ref = NOTHING;
  if (j == i + 1) {
    ref = 0.0;
    const int row = J.row[J.first_word[b] + i];
    for (int t = J.row_tags[row] + LANE; t < J.row_tags[row + 1]; t += LANES)
      sums[J.tag_label[t]] += J.tag_score[t];
  } else {
    for (int k = i + 1 + LANE; k < j; k += LANES) {
      const double both = J.scale[spans + span_id(i, k, n)] + J.scale[spans + span_id(k, j, n)];
      if (both > ref) ref = both;
    }
    ref = max_lanes(ref);
    if (IS_NOTHING(ref)) return;
    for (int k = i + 1; k < j; k++) {
      const int l = spans + span_id(i, k, n), r = spans + span_id(k, j, n);
      const double exponent = J.scale[l] + J.scale[r] - ref;
      if (exponent < FAINT_COARSE) continue;
      const double factor = exp(exponent);
      const int at_l = J.cell_begin[l], at_r = J.cell_begin[r], n_r = J.cell_end[r] - at_r;
      const int n_pairs = (J.cell_end[l] - at_l) * n_r;
      for (int q = LANE; q < n_pairs; q += LANES) {
        const int e = at_l + q / n_r, f = at_r + q % n_r;
        const int *pair = J.pair + J.label[e] * (L + 1) + J.label[f];
        const int first = pair[0], last = pair[1];
        if (first == last) continue;
        const double product = J.value[e] * factor * J.value[f];
        for (int rule = first; rule < last; rule++)
          add_to(&sums[J.parent_of[rule]], product * J.rule_p[rule]);
      }
    }
  }
  sync_warp();
  double best = 0.0, top = 0.0;
  for (int a = LANE; a < L; a += LANES) {
    const double sum = sums[a];
    if (sum * J.prior[a] > best) best = sum * J.prior[a];
    if (sum > top) top = sum;
  }
  best = max_lanes(best);
  top = max_lanes(top);
  if (top <= 0.0) return;  // nothing was added, so nothing is to be taken away
  const double least = J.beam[b] * best;
  int n_kept = 0;
  for (int a = LANE; a < L; a += LANES)
    n_kept += sums[a] > 0.0 && sums[a] * J.prior[a] >= least && (float)(sums[a] / top) > 0.0f;
  n_kept = sum_lanes(n_kept);
  int at = LANE == 0 ? take(&J.next_entry[b], n_kept) : 0;
  at = from_lane(at, 0);
  const bool room = at + n_kept <= J.first_entry[b + 1];
  int next = at;
  for (int base = 0; base < L; base += LANES) {
    const int a = base + LANE;
    const double sum = a < L ? sums[a] : 0.0;
    const bool kept = sum > 0.0 && sum * J.prior[a] >= least && (float)(sum / top) > 0.0f;
    const unsigned bits = lanes_with(kept);
    if (kept && room) {
      const int e = next + n_ones(bits & ((1u << LANE) - 1u));
      J.label[e] = a;
      J.value[e] = (float)(sum / top);
    }
    next += n_ones(bits);
    if (a < L) sums[a] = 0.0;
  }
  if (LANE == 0 && room) {
    J.cell_begin[s] = at;
    J.cell_end[s] = at + n_kept;
    J.scale[s] = ref + log(top) + J.weight[s];
  }
  sync_warp();
}

// The entries of a parent that may have an application above the threshold: their outside, dense.
DEVICE bool parents_alive(const Job &J, int s, double *outside) {
  bool alive = false;
  for (int e = J.cell_begin[s] + LANE; e < J.cell_end[s]; e += LANES) {
    const double out = J.out_left[e] + J.out_right[e];
    if (J.value[e] * out > J.threshold) {
      outside[J.label[e]] = out;
      alive = true;
    }
  }
  alive = lanes_with(alive) != 0;
  sync_warp();
  return alive;
}

DEVICE void forget_parents(const Job &J, int s, double *outside) {
  sync_warp();
  for (int e = J.cell_begin[s] + LANE; e < J.cell_end[s]; e += LANES) outside[J.label[e]] = 0.0;
  sync_warp();
}

// What one cell hands down to its children, by one warp; how many applications survive.
DEVICE int hand_down(const Job &J, int spans, int i, int j, int n, const double *outside) {
  const int s = spans + span_id(i, j, n), L = (int)J.n_labels;
  int count = 0;
  for (int k = i + 1; k < j; k++) {
    const int l = spans + span_id(i, k, n), r = spans + span_id(k, j, n);
    const double exponent = J.scale[l] + J.scale[r] + J.weight[s] - J.scale[s];
    if (exponent < FAINT_COARSE) continue;
    const double factor = exp(exponent);
    for (int e = J.cell_begin[l] + LANE; e < J.cell_end[l]; e += LANES) {
      const double value = J.value[e];
      double sum = 0.0;
      for (int f = J.cell_begin[r]; f < J.cell_end[r]; f++) {
        const int *pair = J.pair + J.label[e] * (L + 1) + J.label[f];
        for (int rule = pair[0]; rule < pair[1]; rule++) {
          const double out = outside[J.parent_of[rule]];
          if (out > 0.0) {
            const double w = out * J.rule_p[rule] * factor, other = J.value[f];
            sum += w * other;
            count += w * value * other > J.threshold;
          }
        }
      }
      J.out_left[e] += sum;
    }
    for (int f = J.cell_begin[r] + LANE; f < J.cell_end[r]; f += LANES) {
      double sum = 0.0;
      for (int e = J.cell_begin[l]; e < J.cell_end[l]; e++) {
        const int *pair = J.pair + J.label[e] * (L + 1) + J.label[f];
        for (int rule = pair[0]; rule < pair[1]; rule++) {
          const double out = outside[J.parent_of[rule]];
          if (out > 0.0) sum += out * J.rule_p[rule] * factor * J.value[e];
        }
      }
      J.out_right[f] += sum;
    }
  }
  return sum_lanes(count);
}

KERNEL coarse(const Job *job) {
  const Job J = *job;
  const int b = BLOCK, n = J.first_word[b + 1] - J.first_word[b], spans = J.first_span[b];
  const int L = (int)J.n_labels;
  double *dense = shared_memory + WARP * L;  // one number a label, for this warp
  for (int a = LANE; a < L; a += LANES) dense[a] = 0.0;
  sync_block();
  for (int w = 1; w <= n; w++) {
    for (int i = WARP; i + w <= n; i += WARPS) coarse_cell(J, b, i, i + w, n, dense);
    sync_block();
  }
  if (J.next_entry[b] > J.first_entry[b + 1]) {
    if (WARP == 0 && LANE == 0) J.status[b] = NO_ROOM;
    return;
  }
  const int root = spans + span_id(0, n, n);
  double z = 0.0;
  for (int e = J.cell_begin[root] + LANE; e < J.cell_end[root]; e += LANES)
    z += J.value[e] * J.root_p[J.label[e]];
  z = sum_lanes(z);
  if (z <= 0.0) {
    if (WARP == 0 && LANE == 0) J.status[b] = NO_TREE;
    return;
  }
  if (WARP == 0)
    for (int e = J.cell_begin[root] + LANE; e < J.cell_end[root]; e += LANES)
      J.out_left[e] = J.root_p[J.label[e]] / z;
  sync_block();
  for (int w = n; w >= 2; w--) {
    for (int i = WARP; i + w <= n; i += WARPS) {
      const int s = spans + span_id(i, i + w, n);
      if (parents_alive(J, s, dense)) {
        const int count = hand_down(J, spans, i, i + w, n, dense);
        if (LANE == 0) J.app_count[s] = count;
      }
      forget_parents(J, s, dense);
    }
    sync_block();
  }
}

DEVICE int entry_with(const Job &J, int s, int label) {
  int low = J.cell_begin[s], high = J.cell_end[s] - 1;  // labels of a cell rise
  while (low < high) {
    const int middle = (low + high) / 2;
    if (J.label[middle] < label) low = middle + 1;
    else high = middle;
  }
  return low;
}

KERNEL survivors(const Job *job) {
  const Job J = *job;
  const int b = BLOCK, n = J.first_word[b + 1] - J.first_word[b], spans = J.first_span[b];
  const int L = (int)J.n_labels;
  if (J.status[b] != PARSED) return;
  double *dense = shared_memory + WARP * L;
  for (int a = LANE; a < L; a += LANES) dense[a] = 0.0;
  sync_warp();
  for (int i = 0; i < n; i++)
    for (int j = i + 2 + WARP; j <= n; j += WARPS) {
      const int s = spans + span_id(i, j, n);
      if (J.app_count[s] == 0) continue;
      parents_alive(J, s, dense);
      int at = J.app_ptr[s];
      for (int k = i + 1; k < j; k++) {
        const int l = spans + span_id(i, k, n), r = spans + span_id(k, j, n);
        const double exponent = J.scale[l] + J.scale[r] + J.weight[s] - J.scale[s];
        if (exponent < FAINT_COARSE) continue;
        const double factor = exp(exponent);
        const int at_l = J.cell_begin[l], at_r = J.cell_begin[r], n_r = J.cell_end[r] - at_r;
        const int n_pairs = (J.cell_end[l] - at_l) * n_r;
        for (int base = 0; base < n_pairs; base += LANES) {
          const int q = base + LANE;
          const int e = q < n_pairs ? at_l + q / n_r : at_l, f = q < n_pairs ? at_r + q % n_r : at_r;
          const int *pair = J.pair + J.label[e] * (L + 1) + J.label[f];
          int rule = q < n_pairs ? pair[0] : 0;
          const int last = q < n_pairs ? pair[1] : 0;
          while (lanes_with(rule < last)) {
            double posterior = 0.0;
            if (rule < last) {
              const double out = dense[J.parent_of[rule]];
              if (out > 0.0) {
                const double w = out * J.rule_p[rule] * factor, value = J.value[e];
                posterior = w * value * J.value[f];
              }
            }
            const bool survives = posterior > J.threshold;
            const unsigned bits = lanes_with(survives);
            if (survives) {
              const int p = at + n_ones(bits & ((1u << LANE) - 1u));
              if (p < J.app_ptr[s + 1]) {
                const int parent = entry_with(J, s, J.parent_of[rule]);
                J.app_rule[p] = J.rule_number[rule];
                J.app_split[p] = k;
                J.app_parent[p] = parent;
                J.app_left[p] = e;
                J.app_right[p] = f;
                J.app_coarse[p] = (float)posterior;
                J.entry_used[parent] = J.entry_used[e] = J.entry_used[f] = 1;
              }
            }
            at += n_ones(bits);
            rule++;
          }
        }
      }
      forget_parents(J, s, dense);
    }
}

KERNEL count_states(const Job *job) {
  const Job J = *job;
  const int b = BLOCK;
  for (int s = J.first_span[b] + WARP * LANES + LANE; s < J.first_span[b + 1]; s += WARPS * LANES) {
    int count = 0;
    if (J.status[b] == PARSED)
      for (int e = J.cell_begin[s]; e < J.cell_end[s]; e++)
        if (J.entry_used[e]) count += J.m[J.label[e]];
    J.state_count[s] = count;
  }
}

// -------------------------------------------------------------------------------------- fine

#define FAINT_FINE -69.0

// out[a] = the product of the vector and the a-th of k rows
template <class T> DEVICE void project(const float *rows, const T *vector, int m, int k, T *out) {
  for (int a = 0; a < k; a++) {
    T total = 0;
    for (int h = LANE; h < m; h += LANES) total += rows[a * m + h] * vector[h];
    total = sum_lanes(total);
    if (LANE == 0) out[a] = total;
  }
}

// out += the sum of k rows with these weights
template <class T> DEVICE void expand(const float *rows, const T *weights, int m, int k, T *out) {
  for (int h = LANE; h < m; h += LANES) {
    T total = 0;
    for (int a = 0; a < k; a++) total += rows[a * m + h] * weights[a];
    out[h] += total;
  }
}

// out[h1] += factor * sum over h2, h3 of tensor[h1, h2, h3] left[h2] right[h3]
template <class T>
DEVICE void contract_in(const float *tensor, int ma, int mb, int mc, const T *left, const T *right,
                        T factor, T *pair, T *out) {
  const int width = mb * mc;
  for (int p = LANE; p < width; p += LANES) pair[p] = left[p / mc] * factor * right[p % mc];
  sync_warp();
  for (int x = 0; x < ma; x++) {
    T total = 0;
    for (int p = LANE; p < width; p += LANES) total += tensor[x * width + p] * pair[p];
    total = sum_lanes(total);
    if (LANE == x % LANES) out[x] += total;
  }
  sync_warp();
}

// The same for a rule, whole or in low rank; ``scratch`` has room for m (m + 6) numbers.
template <class T>
DEVICE void rule_in(const Job &J, int rule, const T *left, const T *right, T factor, T *scratch,
                    T *out) {
  const int ma = J.m[J.rules[3 * rule]], mb = J.m[J.rules[3 * rule + 1]];
  const int mc = J.m[J.rules[3 * rule + 2]];
  const int k1 = J.rank[3 * rule], k2 = J.rank[3 * rule + 1], k3 = J.rank[3 * rule + 2];
  const float *A = J.low_values + J.low_ptr[rule];
  factor *= J.low_factor[rule];
  if (k1 == 0) {
    contract_in(A, ma, mb, mc, left, right, factor, scratch, out);
    return;
  }
  const float *B = A + ma * k1, *C = B + mb * k2, *core = C + mc * k3;
  T *above = scratch, *of_left = above + k1, *of_right = of_left + k2, *pair = of_right + k3;
  project(B, left, mb, k2, of_left);
  project(C, right, mc, k3, of_right);
  for (int a = LANE; a < k1; a += LANES) above[a] = 0;
  sync_warp();
  contract_in(core, k1, k2, k3, of_left, of_right, factor, pair, above);
  expand(A, above, ma, k1, out);
  sync_warp();
}

// Outside to both children; the posterior of the application.
DEVICE float contract_out(const float *tensor, int ma, int mb, int mc, const float *outer,
                          const float *left, const float *right, float factor, float *pair,
                          float *out_left, float *out_right) {
  const int width = mb * mc;
  for (int p = LANE; p < width; p += LANES) {
    float total = 0;
    for (int x = 0; x < ma; x++) total += outer[x] * factor * tensor[x * width + p];
    pair[p] = total;
  }
  sync_warp();
  float posterior = 0;
  for (int y = 0; y < mb; y++) {
    float total = 0;
    for (int z = LANE; z < mc; z += LANES) total += pair[y * mc + z] * right[z];
    total = sum_lanes(total);
    if (LANE == y % LANES) out_left[y] += total;
    posterior += total * left[y];
  }
  for (int z = LANE; z < mc; z += LANES) {
    float total = 0;
    for (int y = 0; y < mb; y++) total += pair[y * mc + z] * left[y];
    out_right[z] += total;
  }
  sync_warp();
  return posterior;
}

DEVICE float rule_out(const Job &J, int rule, const float *outer, const float *left,
                      const float *right, float factor, float *scratch, float *out_left,
                      float *out_right) {
  const int ma = J.m[J.rules[3 * rule]], mb = J.m[J.rules[3 * rule + 1]];
  const int mc = J.m[J.rules[3 * rule + 2]];
  const int k1 = J.rank[3 * rule], k2 = J.rank[3 * rule + 1], k3 = J.rank[3 * rule + 2];
  const float *A = J.low_values + J.low_ptr[rule];
  factor *= J.low_factor[rule];
  if (k1 == 0)
    return contract_out(A, ma, mb, mc, outer, left, right, factor, scratch, out_left, out_right);
  const float *B = A + ma * k1, *C = B + mb * k2, *core = C + mc * k3;
  float *of_outer = scratch, *of_left = of_outer + k1, *of_right = of_left + k2;
  float *to_left = of_right + k3, *to_right = to_left + k2, *pair = to_right + k3;
  project(A, outer, ma, k1, of_outer);
  project(B, left, mb, k2, of_left);
  project(C, right, mc, k3, of_right);
  for (int y = LANE; y < k2; y += LANES) to_left[y] = 0;
  for (int z = LANE; z < k3; z += LANES) to_right[z] = 0;
  sync_warp();
  const float posterior = contract_out(core, k1, k2, k3, of_outer, of_left, of_right, factor, pair,
                                       to_left, to_right);
  expand(B, to_left, mb, k2, out_left);
  expand(C, to_right, mc, k3, out_right);
  sync_warp();
  return posterior;
}

// Divide the states of a span by their largest absolute value; its log, or nothing.
DEVICE double rescaled(const Job &J, int s) {
  float top = 0;
  for (int h = J.state_ptr[s] + LANE; h < J.state_ptr[s + 1]; h += LANES) {
    const float size = fabsf(J.inside[h]);
    if (size > top) top = size;
  }
  top = max_lanes(top);
  if (!(top > 0)) return NOTHING;
  for (int h = J.state_ptr[s] + LANE; h < J.state_ptr[s + 1]; h += LANES) J.inside[h] /= top;
  return log((double)top);
}

DEVICE void word_states(const Job &J, int b, int i, int n) {
  const int s = J.first_span[b] + span_id(i, i + 1, n), row = J.row[J.first_word[b] + i];
  for (int e = J.cell_begin[s]; e < J.cell_end[s]; e++) {
    if (!J.entry_used[e]) continue;
    int t = J.row_tags[row];
    while (J.tag_label[t] != J.label[e]) t++;
    float *into = J.inside + J.entry_states[e];
    const float *from = J.states + J.tag_states[t];
    for (int h = LANE; h < J.m[J.label[e]]; h += LANES) into[h] = from[h];
  }
  sync_warp();
  const double scale = rescaled(J, s);
  if (LANE == 0) J.fine_scale[s] = scale;
}

DEVICE void fine_up(const Job &J, int spans, int i, int j, int n, float *scratch) {
  const int s = spans + span_id(i, j, n);
  const double *scale = J.fine_scale + spans;
  double ref = NOTHING;
  for (int p = J.app_ptr[s] + LANE; p < J.app_ptr[s + 1]; p += LANES) {
    const int k = J.app_split[p];
    const double both = scale[span_id(i, k, n)] + scale[span_id(k, j, n)];
    if (both > ref) ref = both;
  }
  ref = max_lanes(ref);
  if (IS_NOTHING(ref)) {
    if (LANE == 0) J.fine_scale[s] = NOTHING;
    return;
  }
  for (int p = J.app_ptr[s]; p < J.app_ptr[s + 1]; p++) {
    const int k = J.app_split[p];
    const double factor = exp(scale[span_id(i, k, n)] + scale[span_id(k, j, n)] - ref);
    if (factor < 1e-30) continue;
    rule_in(J, J.app_rule[p], J.inside + J.entry_states[J.app_left[p]],
            J.inside + J.entry_states[J.app_right[p]], (float)factor, scratch,
            J.inside + J.entry_states[J.app_parent[p]]);
  }
  const double top = rescaled(J, s);
  if (LANE == 0) J.fine_scale[s] = IS_NOTHING(top) ? NOTHING : ref + top + J.weight[s];
}

DEVICE void fine_down(const Job &J, int spans, int i, int j, int n, float *scratch,
                      int *negative) {
  const int s = spans + span_id(i, j, n);
  const double *scale = J.fine_scale + spans;
  if (IS_NOTHING(J.fine_scale[s])) return;
  float *outer = scratch;
  scratch += J.most_states;
  for (int p = J.app_ptr[s]; p < J.app_ptr[s + 1]; p++) {
    const int k = J.app_split[p];
    const double exponent =
        scale[span_id(i, k, n)] + scale[span_id(k, j, n)] + J.weight[s] - J.fine_scale[s];
    if (exponent < FAINT_FINE) continue;
    const int parent = J.entry_states[J.app_parent[p]], left = J.entry_states[J.app_left[p]];
    const int right = J.entry_states[J.app_right[p]];
    for (int h = LANE; h < J.m[J.label[J.app_parent[p]]]; h += LANES)
      outer[h] = J.outside_left[parent + h] + J.outside_right[parent + h];
    sync_warp();
    const float posterior =
        rule_out(J, J.app_rule[p], outer, J.inside + left, J.inside + right, (float)exp(exponent),
                 scratch, J.outside_left + left, J.outside_right + right);
    if (LANE == 0) {
      J.app_post[p] = posterior;
      if (posterior < 0) *negative = 1;
    }
  }
}

KERNEL fine(const Job *job) {
  const Job J = *job;
  const int b = BLOCK, n = J.first_word[b + 1] - J.first_word[b], spans = J.first_span[b];
  const int thread = WARP * LANES + LANE, threads = WARPS * LANES;
  if (J.status[b] != PARSED) return;
  float *scratch = (float *)shared_memory + WARP * (J.most_states * (J.most_states + 7));
  const int last_span = J.first_span[b + 1];
  for (int s = spans + thread; s < last_span; s += threads) {
    int at = J.state_ptr[s];
    for (int e = J.cell_begin[s]; e < J.cell_end[s]; e++)
      if (J.entry_used[e]) {
        J.entry_states[e] = at;
        at += J.m[J.label[e]];
      }
  }
  sync_block();
  for (int i = WARP; i < n; i += WARPS) word_states(J, b, i, n);
  sync_block();
  for (int w = 2; w <= n; w++) {
    for (int i = WARP; i + w <= n; i += WARPS) fine_up(J, spans, i, i + w, n, scratch);
    sync_block();
  }
  // Z = sum over root labels and states of root[a, h] inside[root item][h]
  const int root = spans + span_id(0, n, n);
  float z = 0;
  for (int e = J.cell_begin[root]; e < J.cell_end[root]; e++)
    if (J.entry_used[e]) {
      const int from = J.label_ptr[J.label[e]], at = J.entry_states[e];
      for (int h = LANE; h < J.m[J.label[e]]; h += LANES) z += J.root[from + h] * J.inside[at + h];
    }
  z = sum_lanes(z);
  if (z == 0 || !(fabsf(z) < 1e38f) || IS_NOTHING(J.fine_scale[root])) {
    if (thread == 0) J.status[b] = NO_WEIGHT;
    return;
  }
  if (thread == 0) J.z[b] = z;
  if (WARP == 0)
    for (int e = J.cell_begin[root]; e < J.cell_end[root]; e++)
      if (J.entry_used[e]) {
        const int from = J.label_ptr[J.label[e]], at = J.entry_states[e];
        for (int h = LANE; h < J.m[J.label[e]]; h += LANES)
          J.outside_left[at + h] = J.root[from + h] / z;
      }
  sync_block();
  for (int w = n; w >= 2; w--) {
    for (int i = WARP; i + w <= n; i += WARPS)
      fine_down(J, spans, i, i + w, n, scratch, J.negative + b);
    sync_block();
  }
  // the policy for negative numbers is that of settle_negatives
  const bool negative = J.negative[b];
  if (negative)
    for (int p = J.app_ptr[spans] + thread; p < J.app_ptr[last_span]; p += threads)
      if (J.app_post[p] < 0) J.app_post[p] = 1e-3f * J.app_coarse[p];
  for (int s = spans + thread; s < last_span; s += threads)
    for (int e = J.cell_begin[s]; e < J.cell_end[s]; e++)
      if (J.entry_used[e]) {
        const int at = J.entry_states[e];
        float total = 0;
        for (int h = at; h < at + J.m[J.label[e]]; h++)
          total += J.inside[h] * (J.outside_left[h] + J.outside_right[h]);
        J.entry_post[e] = negative && total < 0 ? 0 : total;
      }
}

// ------------------------------------------------------------------------------------ decode

// What an item adds to a tree: see constituents.py; by_gain 2 takes its posterior (max-recall).
DEVICE double item_gain(const Job &J, int s, int e) {
  if (J.by_gain == 0) return 0.0;
  if (J.by_gain == 2) return J.entry_post[e];
  double gain = 0.0;
  for (int c = J.chain_ptr[J.label[e]]; c < J.chain_ptr[J.label[e] + 1]; c++) {
    double p = 0.0;
    for (int other = J.cell_begin[s]; other < J.cell_end[s]; other++) {
      if (!J.entry_used[other]) continue;
      const int a = J.label[other];
      for (int d = J.chain_ptr[a]; d < J.chain_ptr[a + 1]; d++)
        if (J.chain_number[d] == J.chain_number[c]) p += J.entry_post[other];
    }
    gain += p - 0.5;
  }
  return gain;
}

KERNEL decode(const Job *job) {
  const Job J = *job;
  const int b = BLOCK, n = J.first_word[b + 1] - J.first_word[b], spans = J.first_span[b];
  const int thread = WARP * LANES + LANE, threads = WARPS * LANES;
  if (J.status[b] != PARSED) return;
  for (int s = spans + thread; s < J.first_span[b + 1]; s += threads)
    for (int e = J.cell_begin[s]; e < J.cell_end[s]; e++)
      if (J.entry_used[e]) {
        J.gain[e] = item_gain(J, s, e);
        J.best[e] = NOTHING;
        J.choice[e] = -1;
      }
  sync_block();
  for (int i = thread; i < n; i += threads) {
    const int s = spans + span_id(i, i + 1, n);
    for (int e = J.cell_begin[s]; e < J.cell_end[s]; e++)
      if (J.entry_used[e]) J.best[e] = J.gain[e];
  }
  sync_block();
  for (int w = 2; w <= n; w++) {
    for (int i = thread; i + w <= n; i += threads) {
      const int s = spans + span_id(i, i + w, n);
      for (int p = J.app_ptr[s]; p < J.app_ptr[s + 1]; p++) {
        const int parent = J.app_parent[p];
        const double likely = J.app_post[p] > 1e-30f ? J.app_post[p] : 1e-30;
        const double v = J.best[J.app_left[p]] + J.best[J.app_right[p]] + J.gain[parent] +
                         (J.by_rules > 0 ? J.by_rules * log(likely) : 0.0);
        if (v > J.best[parent]) {
          J.best[parent] = v;
          J.choice[parent] = p;
        }
      }
    }
    sync_block();
  }
  if (thread != 0) return;
  const int root = spans + span_id(0, n, n);
  int top = -1;
  for (int e = J.cell_begin[root]; e < J.cell_end[root]; e++)
    if (J.entry_used[e] && (top < 0 || J.best[e] > J.best[top])) top = e;
  if (top < 0 || IS_NOTHING(J.best[top])) {
    J.status[b] = NO_WEIGHT;
    return;
  }
  J.score[b] = J.best[top];
  int *stack = J.stack + J.first_word[b] + b, depth = 1;  // n + 1 places
  int node = 2 * J.first_word[b] - b;
  stack[0] = top;
  while (depth > 0) {
    const int e = stack[--depth], p = J.choice[e];
    J.node_label[node] = J.label[e];
    J.node_rule[node++] = p < 0 ? -1 : J.app_rule[p];
    if (p >= 0) {
      stack[depth++] = J.app_right[p];
      stack[depth++] = J.app_left[p];
    }
  }
}

// One warp a sentence: preorder backwards is bottom-up.
KERNEL tree_score(const Job *job) {
  const Job J = *job;
  const int b = BLOCK, n = J.first_word[b + 1] - J.first_word[b];
  if (J.status[b] != PARSED || WARP > 0) return;
  const int first = 2 * J.first_word[b] - b, m_most = (int)J.most_states;
  int *stack = J.stack + J.first_word[b] + b, depth = 0, word = n;
  double total = 0.0;
  for (int node = first + 2 * n - 2; node >= first; node--) {
    const int a = J.node_label[node], rule = J.node_rule[node], m = J.m[a];
    double *into = J.node_states + (ll)node * m_most;
    if (rule < 0) {
      const int row = J.row[J.first_word[b] + --word];
      int t = J.row_tags[row];
      while (J.tag_label[t] != a) t++;
      for (int h = LANE; h < m; h += LANES) into[h] = J.states[J.tag_states[t] + h];
    } else {
      const double *left = J.node_states + (ll)stack[depth - 1] * m_most;
      const double *right = J.node_states + (ll)stack[depth - 2] * m_most;
      depth -= 2;
      for (int h = LANE; h < m; h += LANES) into[h] = 0.0;
      sync_warp();
      rule_in(J, rule, left, right, 1.0, shared_memory, into);
    }
    sync_warp();
    double top = 0.0;
    for (int h = LANE; h < m; h += LANES) top = fabs(into[h]) > top ? fabs(into[h]) : top;
    top = max_lanes(top);
    if (!(top > 0.0)) {
      if (LANE == 0) J.log_p[b] = NOTHING;
      return;
    }
    total += log(top);
    for (int h = LANE; h < m; h += LANES) into[h] /= top;
    sync_warp();
    if (LANE == 0) stack[depth] = node;
    depth++;
    sync_warp();
  }
  double weight = 0.0;
  for (int h = LANE; h < J.m[J.node_label[first]]; h += LANES)
    weight += J.root[J.label_ptr[J.node_label[first]] + h] * J.node_states[(ll)first * m_most + h];
  weight = sum_lanes(weight);
  if (LANE == 0) J.log_p[b] = weight > 0.0 ? total + log(weight) : NOTHING;
}
