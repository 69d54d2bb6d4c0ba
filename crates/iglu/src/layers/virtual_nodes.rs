//! Bi-level aggregation with virtual nodes (Geom-GCN, Pei et al. 2020, as in the appendix of the IGLU paper).
//!
//! Every relation r has a virtual node beside each node, in the graph and in latent space:
//! `g_r = f(A_r X^{k-1} L_g)`, `s_r = f(T_r X^{k-1} L_s)`; `m = 1/|R| sum_r (g_r + s_r)`; `X^k = f(norm(m W + b))`. `A_r` and
//! `T_r` average the neighbours of one relation. Relations come with the data, or from where neighbours lie in
//! a plane into which the graph is laid out ([`crate::latent`]).

use super::{Architecture, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const VIRTUAL: Architecture = Architecture {
    name: "virtual",
    about: "a virtual node per relation in the graph and in latent space, averaged",
    takes: Takes::Relations(Norm::Mean),
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let z = site.aggregates(b);
    let (graph, latent) = z.split_at(site.options.relations.0);
    let mut all = virtual_nodes(b, site, "l_graph", graph);
    all.extend(virtual_nodes(b, site, "l_latent", latent));
    // The paper divides by the number of relations, not of virtual nodes.
    let share = 1.0 / graph.len().max(latent.len()) as f64;
    let mut m = all[0];
    for (i, next) in all[1..].iter().enumerate() {
        m = b.mix((if i == 0 { share } else { 1.0 }, m), (share, *next));
    }
    let h = b.linear("w", &[m], site.options.width);
    site.finish(b, h, "")
}

/// The virtual nodes of one neighbourhood, all through the same map.
fn virtual_nodes(b: &mut Builder, site: &Site<'_>, name: &str, z: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::with_capacity(z.len());
    let mut map = None;
    for z in z {
        let h = match map {
            None => b.linear(name, &[*z], site.options.width),
            Some(first) => b.linear_again(first, *z),
        };
        map.get_or_insert(h);
        out.push(b.activate(h, site.options.activation));
    }
    out
}
