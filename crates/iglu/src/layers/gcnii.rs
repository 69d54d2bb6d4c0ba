//! GCNII (Chen et al. 2020): deep networks that keep their first embedding and maps close to identity.
//!
//! Layer 1 embeds: `X^1 = f(norm(X^0 W + b))`. Above, `H = (1 - initial) A X^{k-1} + initial X^1` and
//! `X^k = f(norm((1 - beta) H + beta H W + b))`, `beta = ln(theta / (k - 1) + 1)`, `A` as for GCN. All layers have one
//! width; a last layer that gives the classes is `H W + b`.

use super::{Architecture, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const GCNII: Architecture = Architecture {
    name: "gcnii",
    about: "deep convolutions with the first embedding mixed in and maps near identity",
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
    let mapped = b.linear("w", &[h], site.options.width);
    if site.options.width != site.d_in {
        return site.finish(b, mapped, "");
    }
    let beta = (site.options.theta / (site.k - 1) as f64).ln_1p();
    let h = b.mix((1.0 - beta, h), (beta, mapped));
    site.finish(b, h, "")
}
