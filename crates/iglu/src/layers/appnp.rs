//! APPNP (Gasteiger et al. 2019): embed once, then propagate without parameters.
//!
//! Layer 1 embeds: `X^1 = f(norm(X^0 W + b))`. Above, `X^k = (1 - initial) A X^{k-1} + initial X^1`, `A` as for GCN:
//! personalised PageRank cut after K - 1 steps. The classifier on top commutes with the propagation, so this is the
//! paper's model. A last layer that gives the classes is `((1 - initial) A X^{k-1} + initial X^1) W + b`.

use super::{Architecture, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const APPNP: Architecture = Architecture {
    name: "appnp",
    about: "one dense embedding, propagated with restarts and without parameters",
    takes: Takes::Operator(Norm::Sym),
    embeds: true,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    if site.k == 1 {
        return super::linear::build(b, site);
    }
    let h = site.with_initial(b);
    if site.options.width == site.d_in {
        return h;
    }
    let h = b.linear("w", &[h], site.options.width);
    site.finish(b, h, "")
}
