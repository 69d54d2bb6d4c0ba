//! Whose embeddings matter to the logits of some nodes.

use super::Network;
use crate::side::Side;

impl Network {
    /// For every `k` up to `L` the nodes whose `X^k` the logits of `nodes` depend on, in order: `nodes` for `k = L`, and downwards what
    /// the layers hear. Their rows of `alpha^k` are the only ones that can differ from zero when `nodes` have the loss.
    pub fn reach(&self, side: &Side, nodes: &[u32]) -> Vec<Vec<u32>> {
        let depth = self.depth();
        let mut marks = vec![vec![false; side.nodes()]; depth + 1];
        for &v in nodes {
            marks[depth][v as usize] = true;
        }
        for k in (1..depth).rev() {
            for m in k + 1..=depth {
                let layer = self.at(m);
                if !layer.reads(k) {
                    continue;
                }
                let (low, high) = marks.split_at_mut(m);
                for v in (0..side.nodes()).filter(|&v| high[0][v]) {
                    low[k][v] = true;
                    if m == k + 1 {
                        side.heard(layer, v, |u| low[k][u as usize] = true);
                    }
                }
            }
        }
        let list = |marks: Vec<bool>| (0..marks.len() as u32).filter(|&v| marks[v as usize]).collect();
        marks.into_iter().map(list).collect()
    }
}
