//! Who listens to whom, without weights: the rows of `A + I` that attention runs over, and the part of them that a
//! mini-batch needs. Knows no layers.

use crate::Graph;
use rayon::prelude::*;
use std::borrow::Cow;

/// Compressed rows of columns, each sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lists {
    offsets: Vec<u64>,
    columns: Vec<u32>,
}

impl Lists {
    /// Columns of row `v`.
    pub fn row(&self, v: usize) -> &[u32] {
        &self.columns[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn from_rows(rows: impl Iterator<Item = impl IntoIterator<Item = u32>>) -> Self {
        let mut out = Self { offsets: vec![0], columns: Vec::new() };
        for row in rows {
            out.columns.extend(row);
            out.offsets.push(out.columns.len() as u64);
        }
        out
    }

    /// The same pairs by column; `columns` says how many there are.
    fn transposed(&self, columns: usize) -> Self {
        let mut offsets = vec![0_u64; columns + 1];
        for &c in &self.columns {
            offsets[c as usize + 1] += 1;
        }
        (0..columns).for_each(|c| offsets[c + 1] += offsets[c]);
        let mut next = offsets.clone();
        let mut out = vec![0; self.columns.len()];
        for r in 0..self.rows() {
            for &c in self.row(r) {
                out[next[c as usize] as usize] = r as u32;
                next[c as usize] += 1;
            }
        }
        Self { offsets, columns: out }
    }
}

/// Every node with its neighbours and itself.
#[derive(Debug, Clone)]
pub struct Pattern {
    rows: Lists,
    /// By column, where that differs (directed graphs).
    back: Option<Lists>,
}

impl Pattern {
    /// The pattern of `A + I`; loops of the graph itself count once.
    pub fn new(graph: &Graph) -> Self {
        let n = graph.nodes();
        let with_self = |v: usize| {
            let others = graph.neighbours(v);
            let own = others.partition_point(|&u| (u as usize) < v);
            let skip = usize::from(others.get(own) == Some(&(v as u32)));
            let (before, after) = (&others[..own], &others[own + skip..]);
            before.iter().copied().chain([v as u32]).chain(after.iter().copied())
        };
        let rows = Lists::from_rows((0..n).map(with_self));
        let back = graph.directed().then(|| rows.transposed(n));
        Self { rows, back }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.rows.rows()
    }

    /// Whom node `v` listens to, itself included.
    pub fn row(&self, v: usize) -> &[u32] {
        self.rows.row(v)
    }

    /// All rows.
    pub fn whole(&self) -> Block<'_> {
        Block {
            ids: None,
            heard: None,
            own: None,
            rows: Cow::Borrowed(&self.rows),
            back: Cow::Borrowed(self.back.as_ref().unwrap_or(&self.rows)),
        }
    }

    /// The rows of some nodes, and whom they listen to.
    pub fn block(&self, ids: &[u32]) -> Block<'_> {
        let mut heard: Vec<u32> = ids.iter().flat_map(|&v| self.row(v as usize)).copied().collect();
        heard.par_sort_unstable();
        heard.dedup();
        let place = |v: u32| heard.binary_search(&v).expect("everybody heard is listed") as u32;
        let local: Vec<Vec<u32>> =
            ids.par_iter().map(|&v| self.row(v as usize).iter().map(|&u| place(u)).collect()).collect();
        let rows = Lists::from_rows(local.into_iter());
        let back = rows.transposed(heard.len());
        let own = ids.iter().map(|&v| place(v)).collect();
        Block {
            ids: Some(ids.to_vec()),
            own: Some(own),
            rows: Cow::Owned(rows),
            back: Cow::Owned(back),
            heard: Some(heard),
        }
    }
}

/// Some rows of a pattern, columns renumbered to those that occur. `None` stands for 0, 1, 2, ...
pub struct Block<'p> {
    /// Node of each row.
    ids: Option<Vec<u32>>,
    /// Node of each column, sorted.
    pub heard: Option<Vec<u32>>,
    /// Column of each row's own node.
    own: Option<Vec<u32>>,
    /// Columns of each row.
    pub rows: Cow<'p, Lists>,
    /// Rows of each column.
    pub back: Cow<'p, Lists>,
}

impl Block<'_> {
    /// Node of row `r`.
    pub fn id(&self, r: usize) -> u32 {
        self.ids.as_ref().map_or(r as u32, |ids| ids[r])
    }

    /// Node of column `c`.
    pub fn heard(&self, c: usize) -> u32 {
        self.heard.as_ref().map_or(c as u32, |ids| ids[c])
    }

    /// Column of row `r`'s own node.
    pub fn own(&self, r: usize) -> usize {
        self.own.as_ref().map_or(r, |own| own[r] as usize)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.back.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EdgeOptions, SelfLoops};

    #[test]
    fn rows_hold_neighbours_and_self_once_and_blocks_are_rows() {
        for self_loops in [SelfLoops::Keep, SelfLoops::Drop] {
            for directed in [false, true] {
                let edges = [[0, 1], [1, 2], [3, 1], [2, 2]];
                let options = EdgeOptions { directed, self_loops, ..Default::default() };
                let pattern = Pattern::new(&Graph::from_edges(5, &edges, options).unwrap());
                assert_eq!(pattern.row(2), if directed { &[1, 2][..] } else { &[1, 2] });
                assert_eq!(pattern.row(1), if directed { &[0, 1, 3][..] } else { &[0, 1, 2, 3] });
                assert_eq!(pattern.row(4), [4]);
                let block = pattern.block(&[2, 4]);
                assert_eq!(block.heard.as_deref(), Some(&[1, 2, 4][..]));
                assert_eq!((block.rows.row(0), block.rows.row(1)), (&[0, 1][..], &[2][..]));
                assert_eq!((block.own(0), block.own(1), block.id(1), block.heard(2)), (1, 2, 4, 4));
                assert_eq!((block.back.row(1), block.back.row(2)), (&[0][..], &[1][..]));
                let whole = pattern.whole();
                for v in 0..5 {
                    for &u in whole.rows.row(v) {
                        assert!(whole.back.row(u as usize).contains(&(v as u32)), "{u} is heard by {v}");
                    }
                }
            }
        }
    }
}
