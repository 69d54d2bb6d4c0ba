//! A dense layer: `X^k = f(norm(X^{k-1} W + b))`. Takes nothing from neighbours; the classifier is one of these.
//!
//! As a classifier with jumping knowledge (Xu et al. 2018) it reads `[X^1 | .. | X^K]`, or their largest entries.

use super::{Architecture, Jump, NormOrder, Site, Takes};
use crate::program::{Builder, Source, Value};

pub(super) const LINEAR: Architecture = Architecture {
    name: "linear",
    about: "a dense layer that ignores the graph",
    takes: Takes::Nothing,
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

pub(super) fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let read = match &site.options.jump {
        None | Some((Jump::None, _)) => vec![site.own(b)],
        Some((jump, layers)) => {
            let one = |&(m, width): &(usize, usize)| {
                let x = b.input(Source::Embedding(m), width);
                b.dropout(x, site.options.dropout)
            };
            let all: Vec<Value> = layers.iter().map(one).collect();
            if *jump == Jump::Max { vec![b.largest(&all)] } else { all }
        }
    };
    let h = b.linear("w", &read, site.options.width);
    site.finish(b, h, "")
}
