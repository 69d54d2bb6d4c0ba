//! A dense layer: `X^k = f(norm(X^{k-1} W + b))`. Takes nothing from neighbours; the classifier is one of these.

use super::{Architecture, NormOrder, Site};
use crate::program::{Builder, Value};

pub(super) const LINEAR: Architecture = Architecture {
    name: "linear",
    about: "a dense layer that ignores the graph",
    operator: None,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let own = site.own(b);
    let h = b.linear("w", &[own], site.options.width);
    site.finish(b, h, "")
}
