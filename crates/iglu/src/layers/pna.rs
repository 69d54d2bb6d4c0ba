//! PNA (Corso et al. 2020): four moments of the neighbours, scaled by degree.
//!
//! `Z = [mean | max | min | std]` of the neighbours' rows, entry by entry, `s = ln(degree + 1) / delta` and
//! `X^k = f(norm(X^{k-1} W_self + Z W + s Z W_amplify + Z W_attenuate / s + b))`. `delta` (`network.degree_scale`) is the
//! mean of `ln(degree + 1)` over the training nodes. The moments have no parameters and are cached; edge weights are
//! not used.

use super::{Architecture, NormOrder, Site, Takes};
use crate::program::{Builder, DegreeScale, Source, Value};

pub(super) const PNA: Architecture = Architecture {
    name: "pna",
    about: "mean, max, min and deviation of the neighbours, scaled by degree",
    takes: Takes::Moments,
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let width = site.options.width;
    let own = site.own(b);
    let z = site.aggregates(b);
    let own = b.linear("w_self", &[own], width);
    let plain = b.linear("w", &z, width);
    let mut h = b.add(own, plain);
    for (name, scale) in [("w_amplify", DegreeScale::Amplify), ("w_attenuate", DegreeScale::Attenuate)] {
        let by = b.input(Source::Degree(scale), 1);
        let scaled = b.linear(name, &z, width);
        let scaled = b.scale_rows(scaled, by);
        h = b.add(h, scaled);
    }
    site.finish(b, h, "")
}
