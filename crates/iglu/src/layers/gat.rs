//! GAT (Velickovic et al. 2018): neighbours weighted by what the layer learns to attend to.
//!
//! `H = X^{k-1} W`; for every head `e_ij = leaky(a_own . H_i + a_other . H_j)` with slope 0.2, `p_i = softmax_j(e_ij)`
//! over the neighbours and the node itself, `X^k = f(norm(sum_j p_ij H_j + b))`. Heads stand side by side (`hidden`
//! columns all together) or are averaged (`combine = "sum"`, and in a network whose last graph layer gives the
//! classes: `hidden` columns each). Dropout of the inputs, of `H` (`said_dropout`) and of `p` (`attention_dropout`).

use super::{Architecture, Combine, NormOrder, Site, Takes};
use crate::program::{AttentionOptions, Builder, Value};

pub(super) const GAT: Architecture = Architecture {
    name: "gat",
    about: "neighbours weighted by learned attention, several heads",
    takes: Takes::Attention,
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

/// Slope of scores below zero.
const SLOPE: f64 = 0.2;

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let o = site.options;
    let averaged = o.combine == Combine::Sum;
    let mut rows = Builder::with_precision(o.precision);
    let own = site.own(&mut rows);
    let said = rows.linear("w", &[own], if averaged { o.heads * o.width } else { o.width });
    let said = rows.dropout(said, o.said_dropout);
    let attention = AttentionOptions { heads: o.heads, slope: SLOPE, dropout: o.attention_dropout };
    let z = b.attend(site.k, rows, said, attention);
    let h = if averaged { b.piece_mean(z, o.heads) } else { z };
    site.finish(b, h, "")
}
