//! Compressed rows from messages, on all threads, the same for any number of them.
//!
//! A counting sort in two levels. Node ids are cut into buckets of equal length. First every part of the source (a
//! range of edges, say) writes its messages to the buckets, each part into its own stretch of each bucket. Then every
//! bucket scatters its messages into rows, sorts and merges them by itself, in cache. Stretches follow the order of
//! the source, so a row meets its messages in that order whoever carried them.

use super::Graph;
use crate::{Permutation, Real};
use rayon::prelude::*;
use std::ops::Range;

/// Most buckets: as many streams as a core can write at once without losing them from its cache.
const BUCKETS: usize = 512;
/// Parts of a source, and chunks of rows: enough for any number of threads.
const PARTS: usize = 64;
/// Fewer items than this are not worth a part of their own.
const SMALLEST_PART: usize = 1 << 14;

/// What messages are made from: items that any thread can walk.
pub(super) trait Source: Sync {
    /// Number of items.
    fn items(&self) -> usize;

    /// Whether messages carry weights.
    fn weighted(&self) -> bool;

    /// The messages of some items in order, as receiver, sender, weight.
    fn each(&self, items: Range<usize>, visit: impl FnMut(u32, u32, Real));
}

/// Compressed rows; what is in a row is up to their maker.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Where rows begin, and where the last one ends.
    pub offsets: Vec<u64>,
    /// Senders, row by row.
    pub neighbours: Vec<u32>,
    /// Their weights, if there are any.
    pub weights: Option<Vec<Real>>,
}

/// Rows of `n` nodes, each sorted, with messages of one sender merged.
pub(super) fn collect(n: usize, source: &impl Source) -> Rows {
    let layout = Layout::new(n, source);
    let total = layout.ends.last().copied().unwrap_or(0);
    let with_weights = |on: bool| if on { vec![0.0; total] } else { Vec::new() };
    let mut messages = Messages { keys: vec![0; total], weights: with_weights(source.weighted()) };
    distribute(source, &layout, &mut messages);
    let mut rows = Rows {
        offsets: vec![0; n + 1],
        neighbours: vec![0; total],
        weights: source.weighted().then(|| with_weights(true)),
    };
    rows.tidy_chunks(&layout.buckets(), |span, chunk| {
        let weights = messages.weights.get(span.clone()).unwrap_or(&[]);
        scatter(&messages.keys[span], weights, chunk);
    });
    rows
}

/// The rows of a graph, its nodes in another order.
pub(super) fn renumbered(from: &Graph, order: &Permutation) -> Rows {
    let (order, place) = (order.old(), order.new_places());
    let length = |&old: &u32| from.neighbours(old as usize).len() as u64;
    let mut rows = Rows {
        offsets: std::iter::once(0).chain(order.iter().map(length)).collect(),
        neighbours: vec![0; from.entries()],
        weights: from.weights.as_ref().map(|weights| vec![0.0; weights.len()]),
    };
    let mut end = 0;
    let span = |rows: Range<usize>| {
        let start = end;
        end += order[rows.clone()].iter().map(length).sum::<u64>() as usize;
        Span { rows, entries: start..end }
    };
    let spans: Vec<Span> = cut(order.len(), PARTS, SMALLEST_PART >> 4).into_iter().map(span).collect();
    rows.tidy_chunks(&spans, |_, chunk| {
        let rows = &order[chunk.first..chunk.first + chunk.lengths.len()];
        let old = || rows.iter().map(|&old| old as usize);
        let neighbours = old().flat_map(|old| from.neighbours(old));
        chunk.neighbours.iter_mut().zip(neighbours).for_each(|(slot, &u)| *slot = place[u as usize]);
        let weights = old().filter_map(|old| from.weights(old)).flatten();
        chunk.weights.iter_mut().zip(weights).for_each(|(slot, &weight)| *slot = weight);
    });
    rows
}

/// Who writes where: `ends[b * parts + p]` is the end of the stretch of part `p` in bucket `b`.
struct Layout {
    nodes: usize,
    parts: Vec<Range<usize>>,
    /// Ids per bucket.
    width: usize,
    ends: Vec<usize>,
}

impl Layout {
    fn new(n: usize, source: &impl Source) -> Self {
        let parts = cut(source.items(), PARTS, SMALLEST_PART);
        let width = n.div_ceil(BUCKETS).next_power_of_two();
        let buckets = n.div_ceil(width);
        let shift = width.trailing_zeros();
        let count = |part: &Range<usize>| {
            let mut counts = vec![0_usize; buckets];
            source.each(part.clone(), |to, _, _| counts[(to >> shift) as usize] += 1);
            counts
        };
        let counts: Vec<Vec<usize>> = parts.par_iter().map(count).collect();
        let mut end = 0;
        let in_order = (0..buckets).flat_map(|b| counts.iter().map(move |part| part[b]));
        let ends = in_order.map(|count| {
            end += count;
            end
        });
        Self { nodes: n, width, ends: ends.collect(), parts }
    }

    /// The ids and the messages of each bucket.
    fn buckets(&self) -> Vec<Span> {
        let ends = self.ends.chunks(self.parts.len().max(1)).filter_map(|parts| parts.last().copied());
        let mut start = 0;
        let bucket = |(b, end): (usize, usize)| {
            let entries = std::mem::replace(&mut start, end)..end;
            Span { rows: b * self.width..((b + 1) * self.width).min(self.nodes), entries }
        };
        ends.enumerate().map(bucket).collect()
    }
}

/// Some rows and their entries.
struct Span {
    rows: Range<usize>,
    entries: Range<usize>,
}

/// Equal ranges of `items`: at most `most`, none but the last below `smallest`.
fn cut(items: usize, most: usize, smallest: usize) -> Vec<Range<usize>> {
    let step = items.div_ceil(most).max(smallest);
    (0..items).step_by(step).map(|first| first..(first + step).min(items)).collect()
}

/// Messages in the order of buckets: `receiver << 32 | sender`, and their weights, if there are any.
struct Messages {
    keys: Vec<u64>,
    weights: Vec<Real>,
}

/// Brings every message to its bucket.
fn distribute(source: &impl Source, layout: &Layout, messages: &mut Messages) {
    let count = layout.parts.len();
    let mut stretches: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
    let (mut keys, mut weights, mut start) = (&mut messages.keys[..], &mut messages.weights[..], 0);
    for (at, &end) in layout.ends.iter().enumerate() {
        let (mine, others) = keys.split_at_mut(end - start);
        let (my_weights, other_weights) = weights.split_at_mut((end - start).min(weights.len()));
        stretches[at % count].push((mine.iter_mut(), my_weights.iter_mut()));
        (keys, weights, start) = (others, other_weights, end);
    }
    let shift = layout.width.trailing_zeros();
    layout.parts.par_iter().zip(stretches).for_each(|(part, mut stretches)| {
        source.each(part.clone(), |to, from, weight| {
            let (keys, weights) = &mut stretches[(to >> shift) as usize];
            if let Some(slot) = keys.next() {
                *slot = u64::from(to) << 32 | u64::from(from);
            }
            if let Some(slot) = weights.next() {
                *slot = weight;
            }
        });
    });
}

/// Some rows that one worker owns.
struct Chunk<'a> {
    /// The first of them.
    first: usize,
    /// Length of each.
    lengths: &'a mut [u64],
    neighbours: &'a mut [u32],
    /// As long as `neighbours`, or empty.
    weights: &'a mut [Real],
}

/// Counting sort of a bucket's messages into its rows.
fn scatter(keys: &[u64], weights: &[Real], chunk: &mut Chunk<'_>) {
    let row = |key: u64| (key >> 32) as usize - chunk.first;
    for &key in keys {
        chunk.lengths[row(key)] += 1;
    }
    let start = |next: &mut usize, length: &u64| {
        *next += *length as usize;
        Some(*next - *length as usize)
    };
    let mut cursor: Vec<usize> = chunk.lengths.iter().scan(0, start).collect();
    for (at, &key) in keys.iter().enumerate() {
        let slot = cursor[row(key)];
        cursor[row(key)] += 1;
        chunk.neighbours[slot] = key as u32;
        if let Some(&weight) = weights.get(at) {
            chunk.weights[slot] = weight;
        }
    }
}

impl Chunk<'_> {
    /// Sorts every row, merges equal neighbours and moves rows together; returns how many entries are kept.
    fn tidy(&mut self) -> usize {
        let (mut start, mut kept) = (0, 0);
        let mut buffer = Vec::new();
        for at in 0..self.lengths.len() {
            let row = start..start + self.lengths[at] as usize;
            start = row.end;
            let end = if self.weights.is_empty() {
                self.neighbours[row.clone()].sort_unstable();
                self.merge(row, kept)
            } else {
                self.sort_weighted(row.clone(), &mut buffer);
                self.merge_weighted(row, kept)
            };
            self.lengths[at] = (end - kept) as u64;
            kept = end;
        }
        kept
    }

    /// Writes the distinct neighbours of a sorted row from `to` on; returns where they end.
    fn merge(&mut self, row: Range<usize>, to: usize) -> usize {
        let mut end = to;
        for at in row {
            let u = self.neighbours[at];
            if end == to || self.neighbours[end - 1] != u {
                self.neighbours[end] = u;
                end += 1;
            }
        }
        end
    }

    /// The same; weights of equal neighbours are added in their order.
    fn merge_weighted(&mut self, row: Range<usize>, to: usize) -> usize {
        let mut end = to;
        for at in row {
            let (u, w) = (self.neighbours[at], self.weights[at]);
            if end > to && self.neighbours[end - 1] == u {
                self.weights[end - 1] += w;
            } else {
                (self.neighbours[end], self.weights[end]) = (u, w);
                end += 1;
            }
        }
        end
    }

    /// Sorts a row with its weights; equal neighbours keep their order.
    fn sort_weighted(&mut self, row: Range<usize>, buffer: &mut Vec<(u32, Real)>) {
        let (neighbours, weights) = (&mut self.neighbours[row.clone()], &mut self.weights[row]);
        if neighbours.is_sorted() {
            return;
        }
        buffer.clear();
        buffer.extend(neighbours.iter().copied().zip(weights.iter().copied()));
        buffer.sort_by_key(|&(u, _)| u);
        for (at, &(u, w)) in buffer.iter().enumerate() {
            (neighbours[at], weights[at]) = (u, w);
        }
    }
}

impl Rows {
    /// Row `v`.
    pub fn row(&self, v: usize) -> &[u32] {
        &self.neighbours[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Sorts every row and merges equal neighbours.
    pub fn tidy(&mut self) {
        let n = self.offsets.len() - 1;
        let entries =
            |rows: &Range<usize>| self.offsets[rows.start] as usize..self.offsets[rows.end] as usize;
        let spans: Vec<Span> = cut(n, PARTS, SMALLEST_PART >> 4)
            .into_iter()
            .map(|rows| Span { entries: entries(&rows), rows })
            .collect();
        for v in (1..=n).rev() {
            self.offsets[v] -= self.offsets[v - 1];
        }
        self.tidy_chunks(&spans, |_, _| {});
    }

    /// Tidies rows whose lengths stand in `offsets[1..]`, after `fill` has done its work on them; `spans` follow each
    /// other without gaps.
    fn tidy_chunks(&mut self, spans: &[Span], fill: impl Fn(Range<usize>, &mut Chunk<'_>) + Sync) {
        let mut chunks = Vec::with_capacity(spans.len());
        let mut lengths = &mut self.offsets[1..];
        let mut neighbours = &mut self.neighbours[..];
        let mut weights = self.weights.as_deref_mut().unwrap_or(&mut []);
        for Span { rows, entries } in spans {
            let weighted = entries.len().min(weights.len());
            chunks.push(Chunk {
                first: rows.start,
                lengths: lengths.split_off_mut(..rows.len()).expect("spans end with the rows"),
                neighbours: neighbours.split_off_mut(..entries.len()).expect("spans end with the entries"),
                weights: weights.split_off_mut(..weighted).expect("as long as the entries, or empty"),
            });
        }
        let work = |(span, mut chunk): (&Span, Chunk<'_>)| {
            fill(span.entries.clone(), &mut chunk);
            chunk.tidy()
        };
        let kept: Vec<usize> = spans.par_iter().zip(chunks).map(work).collect();
        self.close_gaps(spans, &kept);
        super::accumulate(&mut self.offsets);
    }

    /// Moves the entries kept of each span next to each other.
    fn close_gaps(&mut self, spans: &[Span], kept: &[usize]) {
        let mut end = 0;
        for (span, &kept) in spans.iter().zip(kept) {
            let stays = span.entries.start..span.entries.start + kept;
            if stays.start > end {
                self.neighbours.copy_within(stays.clone(), end);
                if let Some(weights) = &mut self.weights {
                    weights.copy_within(stays, end);
                }
            }
            end += kept;
        }
        self.neighbours.truncate(end);
        self.neighbours.shrink_to_fit();
        if let Some(weights) = &mut self.weights {
            weights.truncate(end);
            weights.shrink_to_fit();
        }
    }

    /// Rows that hold their own number.
    pub fn loops(&self) -> usize {
        let n = self.offsets.len() - 1;
        (0..n).into_par_iter().filter(|&v| self.row(v).binary_search(&(v as u32)).is_ok()).count()
    }
}
